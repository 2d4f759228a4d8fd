import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { decide } from '../../cli/commands/decide/decide.ts';
import { openTarget } from '../../cli/target/open-target.ts';
import { processTerminal } from '../../cli/terminal/process-terminal.ts';
import { agent, type DecideInput } from '../../lambda/index.ts';
import type { Operator } from '../../lambda/operator/operator.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { testAgents } from '../../lambda/testing.ts';
import { travelIn } from './agents.ts';
import { freshFolder, runIn } from './scene.ts';

async function scene() {
  const folder = freshFolder();
  const world = travelIn(folder, { hoursAgo: 1 });
  const trip = await world.start({ to: 'Lisbon' }, { id: 'trip-42' });
  return { folder, world, trip, command: runIn(folder) };
}

describe('waitstate approve or reject', () => {
  it('decides a request, and the run resumes', async () => {
    const { command, trip, world } = await scene();
    const { code, out, err } = await command(['approve', 'trip-42', '--as', 'user:ann', '--comment', 'Window seat.']);
    expect(code).toBe(0);
    expect(out).toContain('✓ Book HP 118 to Lisbon for $1200?');
    expect(out).toContain('APPROVED  user:ann approves (Window seat.)');
    expect(err).toContain('No server is running on this folder');
    await world.skip({ hours: 2 });
    expect(await trip.status()).toBe('WAITING_FOR_SIGNAL');
  });

  it('reads the person from the environment and a group from the command line', async () => {
    const { command } = await scene();
    const bob = { env: { WAITSTATE_PERSON: 'user:bob' } };
    const denied = await command(['reject', 'trip-42', 'book', '--json'], bob);
    expect([denied.code, denied.error().code]).toEqual([5, 'NOT_AN_APPROVER']);
    const rejected = await command(['reject', 'trip-42', 'book', '--group', 'group:finance', '--json'], bob);
    expect(rejected.json()).toMatchObject([{ status: 'REJECTED', votes: [{ by: 'user:bob', as: 'group:finance' }] }]);
  });

  it('sends edits from the command line or a file', async () => {
    const { command, folder } = await scene();
    const file = join(folder, 'edits.json');
    writeFileSync(file, '{"seat":"aisle"}');
    const wrong = await command(['approve', 'trip-42', '--as', 'user:ann', '--edits', '{seat}']);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain('--edits is not JSON at line 1, column 2');
    const [approved] = (
      await command(['approve', 'trip-42', '--as', 'user:ann', '--edits', `@${file}`, '--json'])
    ).json();
    expect(approved).toMatchObject({ votes: [{ edits: { seat: 'aisle' } }] });
  });

  it('returns the recorded decision if it is repeated, and rejects a different one', async () => {
    const { command } = await scene();
    const yes = ['approve', 'trip-42', 'book', '--as', 'user:ann', '--json'];
    expect((await command(yes)).code).toBe(0);
    expect((await command(yes)).json()).toMatchObject([{ status: 'APPROVED' }]);
    const no = await command(['reject', 'trip-42', 'book', '--as', 'user:ann', '--json']);
    expect([no.code, no.error().code]).toEqual([4, 'APPROVAL_DECIDED']);
  });

  it('reports a missing person, no pending approval, and several pending approvals', async () => {
    const { command, folder } = await scene();
    expect((await command(['approve', 'trip-42'])).err).toContain('Pass --as, such as --as user:ann');
    await command(['approve', 'trip-42', '--as', 'user:ann']);
    const nothing = await command(['approve', 'trip-42', '--as', 'user:ann', '--json']);
    expect([nothing.code, nothing.error().code]).toEqual([3, 'APPROVAL_NOT_FOUND']);

    const approvalAgent = agent({
      name: 'asks',
      run: (ctx) =>
        ctx.map('both', ['pay', 'post'], (branch, name) =>
          branch.approval(name, { title: `${name}?`, approvers: ['user:ann'] }),
        ),
    });
    const world = testAgents(approvalAgent, { storage: embeddedStorage({ folder }), now: new Date() });
    await world.start(undefined, { id: 'two' });
    const two = await command(['approve', 'two', '--as', 'user:ann', '--json']);
    expect(two.code).toBe(2);
    expect(two.error().message).toMatch(/has 2 pending approvals: .*pay.*post.* Name one/);
    const one = await command(['approve', 'two', 'both[0]/pay', '--as', 'user:ann', '--json']);
    expect(one.json()).toMatchObject([{ id: 'both[0]/pay', status: 'APPROVED' }]);
  });

  it('decides only the request that it has read, and not one that replaced it meanwhile', async () => {
    const { folder, command } = await scene();
    const decisions: DecideInput[] = [];
    const target = await openTarget({ kind: 'folder', folder }, { log: () => {} });
    onTestFinished(() => target.close());
    const operator: Operator = {
      ...target.operator,
      decide: async (run, input) => {
        decisions.push(input);
        return target.operator.decide(run, input);
      },
    };
    const terminal = { ...processTerminal(), print: () => {}, printErr: () => {} };
    const session = { terminal, targetOptions: {}, isJson: false, openTarget: async () => ({ ...target, operator }) };
    await decide(session, { run: 'trip-42', approval: undefined, answer: 'approve' }, { as: 'user:ann' });
    const [approval] = (await command(['approvals', 'trip-42', '--json'])).json();
    expect(decisions).toMatchObject([{ approval: 'book', contentHash: approval?.contentHash }]);
  });
});

describe('waitstate remind or withdraw', () => {
  it('notifies approvers again while the approval is pending', async () => {
    const { command } = await scene();
    const { code, out } = await command(['remind', 'trip-42']);
    expect([code, out.replace(/\n +/g, ' ')]).toEqual([
      0,
      '✓ user:ann, group:finance will be reminded: Book HP 118 to Lisbon for $1200?\n',
    ]);
    expect((await command(['remind', 'trip-42', 'book', '--json'])).json()).toMatchObject([{ status: 'PENDING' }]);
    await command(['approve', 'trip-42', '--as', 'user:ann']);
    const late = await command(['remind', 'trip-42', 'book', '--json']);
    expect([late.code, late.error().code]).toEqual([4, 'APPROVAL_DECIDED']);
  });

  it('withdraws an approval after a confirmation, with a reason', async () => {
    const { command, trip, world } = await scene();
    expect((await command(['withdraw', 'trip-42', '--yes'])).code).toBe(2);
    const withReason = ['withdraw', 'trip-42', '--reason', 'The flight is gone.'];
    expect((await command(withReason)).err).toContain('Pass --yes to confirm.');
    expect((await command(withReason, { columns: 80, input: 'n' })).code).toBe(1);
    const { code, out } = await command([...withReason, '--yes']);
    expect([code, out]).toEqual([0, expect.stringContaining('WITHDRAWN  The flight is gone.')]);
    const again = await command(['withdraw', 'trip-42', 'book', '--reason', 'Twice.', '--yes', '--json']);
    expect([again.code, again.error().code]).toEqual([4, 'APPROVAL_WITHDRAWN']);
    await world.skip({ hours: 2 });
    expect(await trip.status()).toBe('SUCCEEDED');
  });
});

describe('waitstate evidence', () => {
  it('writes a file that it checks offline, and finds a change in it', async () => {
    const folder = freshFolder();
    const world = travelIn(folder, { hoursAgo: 1 });
    const run = await world.start({ to: 'Lisbon' }, { id: 'trip-42' });
    await run.approve('book', { by: 'user:cho', groups: ['group:finance'] });
    const command = runIn(folder);
    const file = join(folder, 'evidence.json');
    expect((await command(['evidence', 'trip-42', 'book', '--out', file])).code).toBe(0);
    expect((await command(['evidence', 'trip-42', 'book', '--out', file])).code).toBe(2);
    const elsewhere = runIn(freshFolder());
    const checked = await elsewhere(['evidence', '--verify', file], { columns: 200 });
    expect(checked.code).toBe(0);
    expect(stripVTControlCharacters(checked.out)).toMatch(
      /user:cho voted "approve" at .*, as a member of group:finance/,
    );
    expect(checked.out).toContain('It does not prove:');
    const text = (await command(['evidence', 'trip-42', 'book'])).out;
    writeFileSync(file, text.replace('"by": "user:cho"', '"by": "user:ann"'));
    const forged = await elsewhere(['evidence', '--verify', file, '--json']);
    expect([forged.code, forged.json()]).toMatchObject([
      7,
      [{ ok: false, problems: [expect.stringContaining('seal')] }],
    ]);
    writeFileSync(file, text.slice(0, 500));
    expect((await elsewhere(['evidence', '--verify', file])).code).toBe(2);
    expect((await elsewhere(['evidence', '--verify', join(folder, 'none')])).code).toBe(2);
    expect((await command(['evidence', 'trip-42'])).code).toBe(2);
    expect((await command(['evidence', 'trip-42', 'other'])).code).toBe(3);
  });
});
