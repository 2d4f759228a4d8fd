import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { decide } from '../../cli/commands/decide.ts';
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

describe('waitstate approve and reject', () => {
  it('answers what a run asks, and the run goes on', async () => {
    const { command, trip, world } = await scene();
    const { code, out, err } = await command(['approve', 'trip-42', '--as', 'user:ann', '--comment', 'Window seat.']);
    expect(code).toBe(0);
    expect(out).toContain('✓ Book HP 118 to Lisbon for $1200?');
    expect(out).toContain('APPROVED  user:ann approves (Window seat.)');
    expect(err).toContain('No server is running here');
    await world.skip({ hours: 2 });
    expect(await trip.status()).toBe('WAITING_FOR_SIGNAL');
  });

  it('takes who answers from the environment, and a group from the command line', async () => {
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

  it('gives what is recorded for the same answer again, and refuses another', async () => {
    const { command } = await scene();
    const yes = ['approve', 'trip-42', 'book', '--as', 'user:ann', '--json'];
    expect((await command(yes)).code).toBe(0);
    expect((await command(yes)).json()).toMatchObject([{ status: 'APPROVED' }]);
    const no = await command(['reject', 'trip-42', 'book', '--as', 'user:ann', '--json']);
    expect([no.code, no.error().code]).toEqual([4, 'APPROVAL_DECIDED']);
  });

  it('says what is missing: who answers, something that is asked, which of several', async () => {
    const { command, folder } = await scene();
    expect((await command(['approve', 'trip-42'])).err).toContain('Who answers? Pass --as user:ann');
    await command(['approve', 'trip-42', '--as', 'user:ann']);
    const nothing = await command(['approve', 'trip-42', '--as', 'user:ann', '--json']);
    expect([nothing.code, nothing.error().code]).toEqual([3, 'APPROVAL_NOT_FOUND']);

    const asks = agent({
      name: 'asks',
      run: (ctx) =>
        ctx.map('both', ['pay', 'post'], (branch, name) =>
          branch.approval(name, { title: `${name}?`, approvers: ['user:ann'] }),
        ),
    });
    const world = testAgents(asks, { storage: embeddedStorage({ folder }), now: new Date() });
    await world.start(undefined, { id: 'two' });
    const two = await command(['approve', 'two', '--as', 'user:ann', '--json']);
    expect(two.code).toBe(2);
    expect(two.error().message).toMatch(/asks 2 things: .*pay.*post.* Name the one/);
    const one = await command(['approve', 'two', 'both[0]/pay', '--as', 'user:ann', '--json']);
    expect(one.json()).toMatchObject([{ id: 'both[0]/pay', status: 'APPROVED' }]);
  });

  it('answers what it has read, so that a question that is asked anew meanwhile is not answered', async () => {
    const { folder, command } = await scene();
    const answers: DecideInput[] = [];
    const place = await openTarget({ kind: 'folder', folder }, { log: () => {} });
    onTestFinished(() => place.close());
    const operator: Operator = {
      ...place.operator,
      decide: async (run, input) => {
        answers.push(input);
        return place.operator.decide(run, input);
      },
    };
    const terminal = { ...processTerminal(), say: () => {}, tell: () => {} };
    const session = { terminal, targetOptions: {}, isJson: false, openTarget: async () => ({ ...place, operator }) };
    await decide(session, { run: 'trip-42', approval: undefined, answer: 'approve' }, { as: 'user:ann' });
    const [asked] = (await command(['approvals', 'trip-42', '--json'])).json();
    expect(answers).toMatchObject([{ approval: 'book', shown: asked?.shown }]);
  });
});

describe('waitstate remind and withdraw', () => {
  it('has people told once more, as long as they are asked', async () => {
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

  it('takes a question back when that is meant, and says why', async () => {
    const { command, trip, world } = await scene();
    expect((await command(['withdraw', 'trip-42', '--yes'])).code).toBe(2);
    const because = ['withdraw', 'trip-42', '--reason', 'The flight is gone.'];
    expect((await command(because)).err).toContain('Pass --yes if you mean it.');
    expect((await command(because, { columns: 80, input: 'n' })).code).toBe(1);
    const { code, out } = await command([...because, '--yes']);
    expect([code, out]).toEqual([0, expect.stringContaining('WITHDRAWN  The flight is gone.')]);
    const again = await command(['withdraw', 'trip-42', 'book', '--reason', 'Twice.', '--yes', '--json']);
    expect([again.code, again.error().code]).toEqual([4, 'APPROVAL_WITHDRAWN']);
    await world.skip({ hours: 2 });
    expect(await trip.status()).toBe('SUCCEEDED');
  });
});
