import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { agent } from '../../lambda/index.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { testAgents } from '../../lambda/testing.ts';
import { freshFolder, runIn } from './scene.ts';

const Hotel = z.object({
  name: z.string(),
  nights: z.int().min(1).max(30),
  extras: z.array(z.enum(['breakfast', 'parking'])).optional(),
  room: z.object({ view: z.enum(['sea', 'yard']) }),
});

/** An agent that asks the question that its input names. */
const trip = agent({
  name: 'trip',
  async run(ctx, question: 'seat' | 'note' | 'hotel' | 'pay') {
    const asked = { title: `${question}?`, approvers: ['user:ann', 'user:bob'] } as const;
    if (question === 'seat')
      return ctx.ask('seat', { ...asked, choices: ['window', { value: 'a', label: 'Aisle seat' }], quorum: 2 });
    if (question === 'note') return ctx.ask('note', { ...asked, text: true });
    if (question === 'hotel') return ctx.ask('hotel', { ...asked, answer: Hotel });
    return ctx.approval('pay', asked);
  },
});

async function scene(...questions: readonly ('seat' | 'note' | 'hotel' | 'pay')[]) {
  const folder = freshFolder();
  const world = testAgents(trip, { storage: embeddedStorage({ folder }), now: new Date() });
  for (const question of questions) await world.start(question, { id: question });
  return { folder, world, command: runIn(folder) };
}

describe('waitstate answer', () => {
  it('answers with a choice, by its value or its label, and shows what differs', async () => {
    const { command } = await scene('seat');
    const shown = await command(['show', 'seat']);
    expect(shown.out).toContain('one of window, a (Aisle seat)');
    expect(shown.out).toContain('waitstate answer seat seat --as user:ann --value …');
    const first = await command(['answer', 'seat', '--value', 'window', '--as', 'user:ann']);
    expect(first.out).toContain('PENDING  1 of 2  user:ann answers window');
    const wrong = await command(['answer', 'seat', '--value', 'roof', '--as', 'user:bob']);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('one of "window", "a"')]);
    await command(['answer', 'seat', '--value', 'Aisle seat', '--as', 'user:bob']);
    expect((await command(['show', 'seat'])).out).toContain('user:bob answered:');
    const [last] = (await command(['answer', 'seat', '--value', 'a', '--as', 'user:ann', '--json'])).json();
    expect(last).toMatchObject({ status: 'APPROVED', answer: { value: 'a' } });
  });

  it('answers with text, also from a file or standard input', async () => {
    const { command, folder } = await scene('note');
    const file = join(folder, 'note.txt');
    writeFileSync(file, 'Two lines,\nas I said.\n');
    const given = await command(['answer', 'note', '--file', file, '--as', 'user:ann', '--json']);
    expect(given.json()).toMatchObject([{ answer: { value: 'Two lines,\nas I said.' } }]);
    const other = await scene('note');
    const piped = await other.command(['answer', 'note', '--file', '-', '--as', 'user:ann', '--json'], {
      input: 'Hi\n',
    });
    expect(piped.json()).toMatchObject([{ answer: { value: 'Hi' } }]);
  });

  it('answers with the fields of a form, which have their types', async () => {
    const { command } = await scene('hotel');
    const field = (...fields: readonly string[]) =>
      command(['answer', 'hotel', ...fields.flatMap((each) => ['--field', each]), '--as', 'user:ann', '--json']);
    expect((await command(['show', 'hotel'])).out).toContain('room: fields named room.view');
    for (const [fields, expected] of [
      [['name=Ritz', 'nights=three', 'room.view=sea'], 'nights: Enter a whole number from 1 to 30'],
      [['name=Ritz', 'nights=31', 'room.view=sea'], 'nights'],
      [['name=Ritz', 'room.view=sea'], '/nights: This field is required'],
      [['name=Ritz', 'nights=3', 'room.view=street'], '"view" must be one of "sea", "yard"'],
      [['hotel=Ritz'], 'one of "name", "nights", "extras", "room"'],
      [['name'], '--field must be NAME=VALUE'],
      [['name=a', 'name=b'], 'each field once'],
    ] as const) {
      const { code, err } = await field(...fields);
      expect([code, err]).toEqual([2, expect.stringContaining(JSON.stringify(expected).slice(1, -1))]);
    }
    const answered = await field('name=Ritz', 'nights=3', 'extras=parking,breakfast', 'room.view=sea');
    expect(answered.json()).toMatchObject([
      {
        status: 'APPROVED',
        answer: { value: { name: 'Ritz', nights: 3, extras: ['breakfast', 'parking'], room: { view: 'sea' } } },
      },
    ]);
  });

  it('is for questions, and approve is not', async () => {
    const { command } = await scene('seat', 'pay');
    const answered = await command(['answer', 'pay', '--value', 'x', '--as', 'user:ann']);
    expect([answered.code, answered.err]).toEqual([2, expect.stringContaining('"pay" is an approval, not a question')]);
    const approved = await command(['approve', 'seat', '--as', 'user:ann']);
    expect([approved.code, approved.err]).toEqual([2, expect.stringContaining('Answer it with "waitstate answer"')]);
    expect((await command(['answer', 'seat', '--as', 'user:ann'])).err).toContain('--value, --field and --file');
    const declined = await command(['reject', 'seat', '--as', 'user:ann', '--comment', 'Ask Cho.']);
    expect(declined.out).toContain('user:ann declines (Ask Cho.)');
  });
});

describe('waitstate delegate', () => {
  it('lets someone answer for a person, and lists and ends it', async () => {
    const { command } = await scene('seat', 'pay');
    const denied = await command(['approve', 'pay', '--as', 'user:cho', '--for', 'user:ann', '--json']);
    expect([denied.code, denied.error().code]).toEqual([5, 'NOT_AN_APPROVER']);
    expect((await command(['delegations'])).err).toContain('No delegations.');
    const made = await command(['delegate', 'user:cho', '--as', 'user:ann', '--until', '5d']);
    expect(made.out).toMatch(/✓ user:cho answers for user:ann until \d{4}-/);
    expect((await command(['delegations'])).out).toMatch(/user:ann +user:cho +now +\S+ \S+ \(in 5d\) +user:ann/);
    expect((await command(['delegations', '--person', 'user:bob', '--json'])).json()).toEqual([]);
    const [answered] = (
      await command(['answer', 'seat', '--value', 'a', '--as', 'user:cho', '--for', 'user:ann', '--json'])
    ).json();
    expect(answered).toMatchObject({ votes: [{ by: 'user:cho', for: 'user:ann', value: 'a' }] });
    expect((await command(['approvals', 'seat'], { columns: 140 })).out).toContain('user:cho for user:ann');
    const ended = await command(['delegate', '--end', '--as', 'user:ann']);
    expect(ended.out).toContain('✓ user:cho no longer answers for user:ann');
    expect((await command(['delegate', '--end', '--as', 'user:ann', '--json'])).json()).toEqual([
      { person: 'user:ann', ended: false },
    ]);
    expect((await command(['approve', 'pay', '--as', 'user:cho', '--for', 'user:ann'])).code).toBe(5);
  });

  it('says what is missing or wrong', async () => {
    const { command } = await scene('pay');
    const as = ['--as', 'user:ann'];
    for (const [args, expected] of [
      [['user:cho', ...as], 'Say who answers and until when'],
      [['--until', '5d', ...as], 'Say who answers and until when'],
      [['user:cho', '--until', 'soon', ...as], 'a duration from now such as 5d'],
      [['user:ann', '--until', '5d', ...as], '`delegate` must be another person than `person`'],
      [['user:cho', '--until', '2001-01-01', ...as], '`until` must be in the future'],
      [['user:cho', '--end', ...as], 'With --end, pass only --as'],
      [['user:cho', '--until', '5d'], 'Pass --as'],
    ] as const) {
      const { code, err } = await command(['delegate', ...args]);
      expect([code, err]).toEqual([2, expect.stringContaining(expected)]);
    }
  });

  it('lets the delegate decide several requests together', async () => {
    const { command, world } = await scene();
    for (const id of ['p1', 'p2']) await world.start('pay', { id });
    const together = ['approve', '--agent', 'trip', '--name', 'pay', '--as', 'user:cho', '--yes'];
    expect((await command(together)).err).toContain('no pending request "pay" that user:cho can decide');
    await command(['delegate', 'user:cho', '--as', 'user:ann', '--until', '1h']);
    expect((await command([...together, '--for', 'user:bob'])).err).toContain('user:bob');
    const decided = await command([...together, '--json']);
    const votes = [{ by: 'user:cho', for: 'user:ann' }];
    expect(decided.json()).toMatchObject([{ votes }, { votes }]);
  });
});
