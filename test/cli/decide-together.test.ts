import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Approver } from '../../lambda/core/approval.ts';
import { agent } from '../../lambda/index.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { testAgents } from '../../lambda/testing.ts';
import { freshFolder, runIn } from './scene.ts';

interface Refund {
  readonly amount?: number;
  readonly approvers?: readonly Approver[];
  readonly quorum?: number;
  readonly name?: string;
}

const refunds = agent({
  name: 'refunds',
  members: (group) => (group === 'group:finance' ? ['user:ann', 'user:bob'] : []),
  notify: () => {},
  async run(ctx, { amount = 80, approvers = ['user:ann'], quorum = 1, name = 'refund' }: Refund) {
    const { approved, by, comment } = await ctx.approval(name, {
      ...{ title: `Refund $${amount}?`, approvers, quorum, editable: true },
      show: { lines: Array.from({ length: 30 }, (_, i) => `line ${i} of ${amount}`) },
      facts: { amount },
    });
    return { approved, by, comment };
  },
});

async function scene(inputs: Readonly<Record<string, Refund>>) {
  const folder = freshFolder();
  const world = testAgents(refunds, { storage: embeddedStorage({ folder }), now: new Date() });
  for (const [id, input] of Object.entries(inputs)) await world.start(input, { id });
  const votes = async (run: string) => (await world.run(run).approvals()).flatMap(({ votes: all }) => all);
  return { folder, world, votes, command: runIn(folder) };
}

const KIND = ['--agent', 'refunds', '--name', 'refund'];
const ALL = ['approve', ...KIND, '--as', 'user:ann'];

describe('waitstate approve or reject without a run', () => {
  it('lists each request of a kind in full, asks, and decides each separately', async () => {
    const { command, world } = await scene({ a: { amount: 1 }, b: { amount: 2 }, bonus: { amount: 3, name: 'bonus' } });
    const { code, out, err } = await command([...ALL, '--comment', 'All small.'], { columns: 100, input: 'y' });
    expect(code).toBe(0);
    for (const part of ['Refund $1?', 'line 29 of 1', 'Refund $2?', 'line 29 of 2']) expect(err).toContain(part);
    expect(err).not.toContain('Refund $3?');
    expect(err).toContain('2 requests will be approved by user:ann. Each decision is recorded separately.');
    expect(out).toMatch(/✓ .*a refund.*APPROVED.*user:ann approves \(All small\.\)/);
    await world.skip({ minutes: 2 });
    for (const id of ['a', 'b'])
      expect(await world.run(id).result()).toEqual({ approved: true, by: ['user:ann'], comment: 'All small.' });
    expect(await world.run('bonus').approvals()).toMatchObject([{ votes: [] }]);
  });

  it('decides nothing without a confirmation', async () => {
    const { command, votes } = await scene({ a: {}, b: {} });
    expect((await command(ALL, { columns: 100, input: 'n' })).code).toBe(1);
    const refused = await command(ALL);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining('Pass --yes to confirm.')]);
    for (const id of ['a', 'b']) expect(await votes(id)).toEqual([]);
  });

  it('takes what it lists in the same call with --yes, and prints each result as JSON', async () => {
    const { command } = await scene({ a: { amount: 1 }, b: { amount: 2 } });
    const { code, json } = await command([...ALL, '--yes', '--json']);
    expect(code).toBe(0);
    expect(json().map(({ run, id, status, isNew }) => ({ run, id, status, isNew }))).toEqual(
      expect.arrayContaining([
        { run: 'a', id: 'refund', status: 'APPROVED', isNew: true },
        { run: 'b', id: 'refund', status: 'APPROVED', isNew: true },
      ]),
    );
  });

  it('lists only requests that the person can decide, by name or as a known member of a group', async () => {
    const { command, votes } = await scene({
      own: {},
      bobs: { approvers: ['user:bob'] },
      group: { approvers: ['group:finance'], quorum: 2 },
      unknown: { approvers: ['group:sales'] },
    });
    const { json } = await command([...ALL, '--yes', '--json']);
    expect(
      json()
        .map(({ run }) => run)
        .toSorted(),
    ).toEqual(['group', 'own']);
    expect(await votes('bobs')).toEqual([]);
    const again = await command([...ALL, '--yes', '--json']);
    expect([again.code, again.error().code]).toEqual([3, 'APPROVAL_NOT_FOUND']);
    const zed = await command(['approve', ...KIND, '--as', 'user:zed', '--yes', '--json']);
    expect([zed.code, zed.error().code]).toEqual([3, 'APPROVAL_NOT_FOUND']);
    expect(await votes('group')).toHaveLength(1);
  });

  it('decides the requests of a file with their hashes, and reports each one that it cannot decide', async () => {
    const { command, folder, world, votes } = await scene({
      a: { amount: 1 },
      b: { amount: 2, approvers: ['user:ann', 'user:bob'], quorum: 2 },
      c: { amount: 3 },
    });
    const listed = (await command(['approvals', ...KIND, '--json'])).out;
    const file = join(folder, 'requests.jsonl');
    writeFileSync(file, `${listed}${JSON.stringify({ run: 'none', approval: 'refund', contentHash: 'x' })}\n\n`);
    await world.run('b').decide({ approval: 'refund', by: 'user:bob', answer: 'approve', edits: { amount: 1.5 } });
    const fromFile = ['reject', '--from', file, '--as', 'user:ann', '--yes'];
    const { code, json } = await command([...fromFile, '--json']);
    expect(code).toBe(1);
    const results = Object.fromEntries(json().map(({ run, status, error }) => [run, status ?? Object(error).code]));
    expect(results).toEqual({ a: 'REJECTED', b: 'APPROVAL_CHANGED', c: 'REJECTED', none: 'APPROVAL_NOT_FOUND' });
    expect(await votes('b')).toHaveLength(1);
    const text = await command(fromFile, { columns: 100 });
    expect(text.err).toContain('user:bob proposes these changes:');
    expect(text.out).toMatch(/= .*a refund.*REJECTED/);
    expect(text.out).toMatch(/✗ .*b refund[\s\S]*has changed since you loaded it/);
  });

  it('reads requests from standard input, and exits with the code of the errors if they agree', async () => {
    const { command, world } = await scene({ a: {}, b: {} });
    const listed = (await command(['approvals', ...KIND, '--json'])).out;
    for (const id of ['a', 'b']) await world.run(id).decide({ approval: 'refund', by: 'user:ann', answer: 'reject' });
    const { code, json } = await command(['approve', '--from', '-', '--as', 'user:ann', '--yes', '--json'], {
      input: listed,
    });
    expect(code).toBe(4);
    expect(json().map(({ error }) => Object(error).code)).toEqual(['APPROVAL_DECIDED', 'APPROVAL_DECIDED']);
  });

  it('decides more than 50 requests', async () => {
    const { command } = await scene(Object.fromEntries(Array.from({ length: 53 }, (_, i) => [`r${i}`, { amount: i }])));
    const { code, json } = await command([...ALL, '--yes', '--json']);
    expect([code, new Set(json().map(({ status }) => status)), json().length]).toEqual([0, new Set(['APPROVED']), 53]);
  });

  it.each([
    ['nothing that selects requests', ['approve', '--as', 'user:ann'], 'pass --agent and --name'],
    ['only a name', ['approve', '--name', 'refund', '--as', 'user:ann'], 'pass --agent and --name'],
    ['a kind and a file', ['approve', ...KIND, '--from', 'x', '--as', 'user:ann'], 'not both'],
    ['edits', [...ALL, '--edits', '{}'], '--edits changes one request'],
    ['nobody who decides', ['approve', ...KIND], 'Pass --as'],
    ['a run and a kind', ['approve', 'a', ...KIND, '--as', 'user:ann'], '--agent is for several requests'],
    ['a run and --yes', ['approve', 'a', '--as', 'user:ann', '--yes'], '--yes is for several requests'],
    ['a missing file', ['approve', '--from', 'none.jsonl', '--as', 'user:ann'], 'cannot be read'],
  ])('is refused with %s', async (_, args, message) => {
    const { command, votes } = await scene({ a: {} });
    const refused = await command([...args, '--json']);
    expect([refused.code, refused.error().message]).toEqual([2, expect.stringContaining(message)]);
    expect(await votes('a')).toEqual([]);
  });

  it.each([
    ['is empty', '', 'is empty; each line must be JSON'],
    ['is not JSON', '{"run":', 'Line 1 of standard input is not JSON'],
    ['lacks a hash', '{"run":"a","id":"refund"}', 'names no request'],
    ['names a request twice', '{"run":"a","id":"refund","contentHash":"x"}\n'.repeat(2), 'names each approval once'],
  ])('is refused if the input %s', async (_, input, message) => {
    const { command, votes } = await scene({ a: {} });
    const refused = await command(['approve', '--from', '-', '--as', 'user:ann', '--yes', '--json'], { input });
    expect([refused.code, refused.error().message]).toEqual([2, expect.stringContaining(message)]);
    expect(await votes('a')).toEqual([]);
  });
});

describe('waitstate approvals', () => {
  it('lists the approvals of one kind', async () => {
    const { command } = await scene({ a: {}, b: { name: 'bonus' } });
    const runs = async (...args: readonly string[]) =>
      (await command(['approvals', ...args, '--json'])).json().map(({ run }) => run);
    expect(await runs(...KIND)).toEqual(['a']);
    expect(await runs('--name', 'bonus', '--person', 'user:ann')).toEqual(['b']);
    expect(await runs('--agent', 'other')).toEqual([]);
    expect((await command(['approvals', 'a', ...KIND])).code).toBe(2);
  });
});
