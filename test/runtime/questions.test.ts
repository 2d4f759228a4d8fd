import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { scanRecords } from '../../lambda/checkpoints/lists/scan.ts';
import { approvals } from '../../lambda/index.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { StandardSchema } from '../../lambda/runtime/definition/standard-schema.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';

const ANN = { title: 'Which seat?', approvers: ['user:ann'] } as const;
const seat = () =>
  agent({
    name: 'seat',
    run: (ctx) => ctx.ask('seat', { ...ANN, choices: ['window', 'aisle'], timeout: { days: 1 } }),
  });

describe('a question with choices', () => {
  it('returns the answer, who gave it and when', async () => {
    const world = testAgents(seat());
    const run = await world.start({}, { id: 'r' });
    await run.expect({ status: 'WAITING_FOR_APPROVAL', pendingApprovals: ['seat'] });
    await run.answer('seat', 'aisle', { comment: 'I am tall.' });
    expect(await run.result()).toEqual({
      ...{ answered: true, answer: 'aisle', status: 'APPROVED', by: ['user:ann'], comment: 'I am tall.' },
      ...{
        at: new Date('2026-01-01T00:00:00Z'),
        requestCount: 1,
        contentHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    });
  });

  it('shows its JSON Schema, and its answer once there is one', async () => {
    const world = testAgents(seat());
    const run = await world.start({}, { id: 'r' });
    const [asked] = await run.approvals();
    expect(asked).toMatchObject({ editable: false, answerSchema: { type: 'string', oneOf: [{}, {}] } });
    expect(asked).not.toHaveProperty('answer');
    const answered = await run.decide({ approval: 'seat', by: 'user:ann', value: 'window' });
    expect(answered).toMatchObject({
      status: 'APPROVED',
      answer: { by: 'user:ann', value: 'window' },
      votes: [{ by: 'user:ann', answer: 'approve', value: 'window' }],
    });
    expect(answered).not.toHaveProperty('proposal');
  });

  it('refuses another value at once, and records nothing', async () => {
    const world = testAgents(seat());
    const run = await world.start({}, { id: 'r' });
    for (const value of ['Window', 'window ', 'roof', '', null, 0, ['window'], { value: 'window' }])
      await expect(run.decide({ approval: 'seat', by: 'user:ann', value })).rejects.toMatchObject({
        code: 'SCHEMA_REFUSED',
        message: 'The answer is not valid. Choose one of "window", "aisle".',
        problems: [{ path: '' }],
      });
    expect((await run.approvals())[0]?.votes).toEqual([]);
  });

  it('cannot be approved without an answer, and an approval cannot be answered', async () => {
    const world = testAgents(seat());
    const run = await world.start({}, { id: 'r' });
    const ann = { approval: 'seat', by: 'user:ann' } as const;
    await expect(run.approve('seat')).rejects.toThrow(
      '`value` must be the answer, because "seat" is a question (to decline, reject it)',
    );
    await expect(run.decide({ ...ann, answer: 'approve', edits: 'window' })).rejects.toThrow('pass `value` instead');
    await expect(run.decide({ ...ann, answer: 'reject', value: 'window' })).rejects.toThrow(
      'absent, because you decline',
    );
    await expect(run.decide(ann as never)).rejects.toThrow('`answer` must be "approve" or "reject"');
    const plain = testAgents(agent({ name: 'plain', run: (ctx) => ctx.approval('pay', ANN) }));
    const other = await plain.start({}, { id: 'r' });
    await expect(other.answer('pay', 1)).rejects.toThrow('"pay" is not a question (approve or reject it instead)');
  });

  it('can be declined, withdrawn, and expire', async () => {
    const declined = await testAgents(seat()).start({}, { id: 'r' });
    await declined.reject('seat', { comment: 'Ask Bob.' });
    expect(await declined.result()).toMatchObject({ answered: false, status: 'REJECTED', comment: 'Ask Bob.' });
    const expired = await testAgents(seat()).start({}, { id: 'r' });
    await expired.expire('seat');
    expect(await expired.result()).toMatchObject({ answered: false, status: 'EXPIRED', by: [] });
    await expect(expired.decide({ approval: 'seat', by: 'user:ann', value: 'window' })).rejects.toMatchObject({
      code: 'APPROVAL_EXPIRED',
    });
  });

  it('fails the run at the deadline if it says so', async () => {
    const failing = agent({
      name: 'seat',
      run: (ctx) => ctx.ask('seat', { ...ANN, text: true, timeout: { days: 1 }, onTimeout: 'fail' }),
    });
    const run = await testAgents(failing).start({}, { id: 'r' });
    await run.expire('seat');
    await run.expect({ status: 'FAILED', error: 'Question "seat" was not answered before its deadline' });
  });

  it('returns the recorded answer if it is repeated, and refuses another one', async () => {
    const world = testAgents(seat());
    const run = await world.start({}, { id: 'r' });
    const input = { approval: 'seat', by: 'user:ann' } as const;
    await run.decide({ ...input, value: 'window' });
    expect(await run.decide({ ...input, value: 'window' })).toMatchObject({ answer: { value: 'window' } });
    await expect(run.decide({ ...input, value: 'aisle' })).rejects.toMatchObject({
      code: 'APPROVAL_DECIDED',
      message: expect.stringContaining('Question "seat" cannot get a different answer: user:ann answered at'),
    });
    expect(world.invocations).toHaveLength(2);
  });

  it('can have several answers, in the order of the question', async () => {
    const several = agent({
      name: 'extras',
      run: (ctx) => ctx.ask('extras', { ...ANN, choices: ['meal', 'bag', 'lounge'], multiple: true }),
    });
    const run = await testAgents(several).start({}, { id: 'r' });
    await expect(run.answer('extras', [])).rejects.toThrow('Enter at least 1 value.');
    await expect(run.answer('extras', ['bag', 'bag'])).rejects.toThrow('Enter each value once.');
    await run.answer('extras', ['lounge', 'meal']);
    expect(await run.result()).toMatchObject({ answer: ['meal', 'lounge'] });
  });
});

describe('a question to several people', () => {
  const asking = () =>
    agent({
      name: 'seats',
      run: (ctx) =>
        ctx.ask('seat', {
          title: 'Which seat?',
          approvers: ['user:ann', 'user:bob', 'user:cho'],
          quorum: 2,
          answer: z.object({ row: z.int(), seat: z.enum(['a', 'b']) }),
        }),
    });

  it('is answered when a quorum gave the same answer, whatever the order of its fields', async () => {
    const world = testAgents(asking());
    const run = await world.start({}, { id: 'r' });
    await run.answer('seat', { row: 1, seat: 'a' }, { by: 'user:ann' });
    await run.answer('seat', { row: 1, seat: 'b' }, { by: 'user:bob' });
    await run.expect({ status: 'WAITING_FOR_APPROVAL' });
    expect((await run.approvals())[0]).toMatchObject({
      answer: { by: 'user:bob', value: { row: 1, seat: 'b' } },
      votes: [
        { by: 'user:ann', counts: false },
        { by: 'user:bob', counts: true },
      ],
    });
    await run.answer('seat', { seat: 'a', row: 1 }, { by: 'user:cho' });
    expect(await run.result()).toMatchObject({ answer: { row: 1, seat: 'a' }, by: ['user:ann', 'user:cho'] });
  });

  it('accepts the answer of someone who had not seen the answers of others', async () => {
    const world = testAgents(asking());
    const run = await world.start({}, { id: 'r' });
    const { contentHash = '' } = (await run.approvals())[0] ?? {};
    const value = { row: 7, seat: 'a' };
    await run.decide({ approval: 'seat', by: 'user:ann', value: { row: 1, seat: 'a' }, contentHash });
    await run.decide({ approval: 'seat', by: 'user:bob', value, contentHash });
    const other = { row: 9, seat: 'b' };
    const wrong = { approval: 'seat', by: 'user:cho', value: other, contentHash: 'ab'.repeat(32) } as const;
    await expect(run.decide(wrong)).rejects.toThrow('has changed since you loaded it');
    await run.decide({ approval: 'seat', by: 'user:cho', value });
    expect(await run.result()).toMatchObject({ answer: value, by: ['user:bob', 'user:cho'] });
  });

  it('does not count one person twice, and is declined by anyone', async () => {
    const world = testAgents(asking());
    const run = await world.start({}, { id: 'r' });
    for (const row of [1, 2, 1, 1]) await run.answer('seat', { row, seat: 'a' }, { by: 'user:ann' });
    await run.expect({ status: 'WAITING_FOR_APPROVAL' });
    await run.reject('seat', { by: 'user:bob' });
    expect(await run.result()).toMatchObject({ answered: false, by: ['user:bob'] });
  });

  it('counts the answer of a delegate for the person who is away, and records both', async () => {
    const storage = memoryStorage();
    const world = testAgents(asking(), { storage });
    const run = await world.start({}, { id: 'r' });
    const requests = approvals({ storage, clock: world.clock });
    const until = new Date(world.clock.now() + 86_400_000);
    await requests.delegate({ person: 'user:ann', delegate: 'user:dan', until });
    const value = { row: 1, seat: 'a' };
    await run.answer('seat', value, { by: 'user:dan' });
    await expect(run.answer('seat', value, { by: 'user:dan', for: 'user:bob' })).rejects.toMatchObject({
      code: 'NOT_AN_APPROVER',
    });
    expect((await run.approvals())[0]).toMatchObject({ answer: { by: 'user:dan', for: 'user:ann', value } });
    // Ann's own answer would be the second one of the same person.
    await run.answer('seat', value, { by: 'user:ann' });
    await run.expect({ status: 'WAITING_FOR_APPROVAL' });
    await run.answer('seat', value, { by: 'user:cho' });
    expect(await run.result()).toMatchObject({
      ...{ answer: value, by: ['user:dan', 'user:cho'] },
      delegated: [{ by: 'user:dan', for: 'user:ann' }],
    });
  });

  it('cannot be approved together with others, only declined', async () => {
    const storage = memoryStorage();
    const world = testAgents(asking(), { storage });
    const runs = [await world.start({}, { id: 'a' }), await world.start({}, { id: 'b' })];
    const requests = approvals({ storage, clock: world.clock });
    const pending = await Promise.all(runs.map(async (run) => (await run.approvals())[0]));
    const shown = pending.map((each) => ({
      run: each?.run ?? '',
      approval: 'seat',
      contentHash: each?.contentHash ?? '',
    }));
    const both = { by: 'user:ann', approvals: shown } as const;
    for (const result of await requests.decideAll({ ...both, answer: 'approve' }))
      expect(result).toMatchObject({
        error: { code: 'INVALID_INPUT', message: expect.stringContaining('because "seat" is a question') },
      });
    for (const result of await requests.decideAll({ ...both, answer: 'reject' }))
      expect(result).toMatchObject({ view: { status: 'REJECTED' }, isNew: true });
  });

  it('is refused after twenty different answers, except for the newest one', async () => {
    const world = testAgents(asking());
    const run = await world.start({}, { id: 'r' });
    for (let row = 0; row < 20; row++)
      await run.answer('seat', { row, seat: 'a' }, { by: row % 2 ? 'user:ann' : 'user:bob' });
    await expect(run.answer('seat', { row: 20, seat: 'a' }, { by: 'user:cho' })).rejects.toThrow(
      'the newest answer, because 20 answers were given already',
    );
    await run.answer('seat', { row: 19, seat: 'a' }, { by: 'user:cho' });
    expect(await run.result()).toMatchObject({ answered: true });
  });
});

describe('a question with a schema', () => {
  it('returns the output of the schema, and checks what its JSON Schema says before it is recorded', async () => {
    const trip = z.object({ day: z.iso.date().transform((day) => new Date(day)), bags: z.int().max(3).default(1) });
    const run = await testAgents(
      agent({ name: 'trip', run: (ctx) => ctx.ask('trip', { ...ANN, answer: trip }) }),
    ).start({}, { id: 'r' });
    await expect(run.answer('trip', { day: 'soon', bags: 4 })).rejects.toThrow(
      'The answer is not valid. /day: Enter a date such as 2030-12-31. /bags: Enter a whole number up to 3.',
    );
    await run.answer('trip', { day: '2030-01-31' });
    expect(await run.result()).toMatchObject({ answer: { day: new Date('2030-01-31T00:00:00Z'), bags: 1 } });
  });

  it('asks again with the reason if the schema refuses what its JSON Schema accepts', async () => {
    const even = z.int().refine((n) => n % 2 === 0, 'must be even');
    const world = testAgents(agent({ name: 'even', run: (ctx) => ctx.ask('n', { ...ANN, answer: even }) }));
    const run = await world.start({}, { id: 'r' });
    await run.answer('n', 3);
    expect((await run.approvals())[0]).toMatchObject({
      id: 'n~2',
      changed: { before: 3, after: 'The answer does not match its schema: must be even.' },
    });
    await run.answer('n', 4);
    expect(await run.result()).toMatchObject({ answered: true, answer: 4, requestCount: 2 });
  });

  it('gives up after the last request', async () => {
    const never = z.string().refine(() => false, 'no');
    const world = testAgents(
      agent({ name: 'never', run: (ctx) => ctx.ask('n', { ...ANN, answer: never, maxRequests: 2 }) }),
    );
    const run = await world.start({}, { id: 'r' });
    await run.answer('n', 'x');
    await run.answer('n', 'y');
    const result = await run.result();
    expect(result).toMatchObject({
      answered: false,
      status: 'CHANGED',
      comment: expect.stringContaining('Asked 2 times'),
    });
    expect(result).not.toHaveProperty('answer');
  });

  it('accepts any JSON if the library has no JSON Schema, and the schema checks it', async () => {
    const own: StandardSchema<unknown, number> = {
      '~standard': {
        version: 1,
        vendor: 'own',
        validate: (value) => (typeof value === 'number' ? { value } : { issues: [{ message: 'a number, please' }] }),
      },
    };
    const world = testAgents(agent({ name: 'own', run: (ctx) => ctx.ask('n', { ...ANN, answer: own }) }));
    const run = await world.start({}, { id: 'r' });
    expect((await run.approvals())[0]?.answerSchema).toEqual({});
    await run.answer('n', 'seven');
    expect((await run.approvals())[0]?.changed).toMatchObject({ after: expect.stringContaining('a number, please') });
    await run.answer('n', 7);
    expect(await run.result()).toMatchObject({ answer: 7 });
  });

  it('is asked again if its facts changed', async () => {
    let fare = 1200;
    const trip = agent({
      name: 'trip',
      run: (ctx) =>
        ctx.ask('class', {
          title: (facts) => `Which class for $${facts.fare}?`,
          approvers: ['user:ann'],
          choices: ['economy', 'business'],
          facts: { fare: 1200 },
          recheck: () => ({ fare }),
        }),
    });
    const run = await testAgents(trip).start({}, { id: 'r' });
    fare = 1500;
    await run.answer('class', 'business');
    expect((await run.approvals())[0]).toMatchObject({ title: 'Which class for $1500?' });
    await run.answer('class', 'economy');
    expect(await run.result()).toMatchObject({ answer: 'economy', facts: { fare: 1500 } });
  });
});

describe('a question in a newer deployment', () => {
  const asking = (choices: readonly [string, string]) =>
    agent({ name: 'seat', run: (ctx) => ctx.ask('seat', { ...ANN, choices }) });

  it('is asked again if the new code no longer has the choice', async () => {
    const storage = memoryStorage();
    const run = await testAgents(asking(['window', 'aisle']), { storage }).start({}, { id: 'r' });
    const same = testAgents(asking(['front', 'back']), { storage }).run('r');
    await same.answer('seat', 'window');
    expect((await same.approvals())[0]).toMatchObject({
      id: 'seat~2',
      changed: { before: 'window', after: 'The answer is not valid. Choose one of "front", "back".' },
      answerSchema: { oneOf: [{ const: 'front' }, { const: 'back' }] },
    });
    await same.answer('seat', 'back');
    expect(await run.result()).toMatchObject({ answer: 'back' });
  });

  it('does not become an approval, nor an approval a question', async () => {
    const storage = memoryStorage();
    const run = await testAgents(asking(['window', 'aisle']), { storage }).start({}, { id: 'r' });
    const newer = testAgents(agent({ name: 'seat', run: (ctx) => ctx.approval('seat', ANN) }), { storage });
    await newer.run('r').answer('seat', 'window');
    await run.expect({ status: 'FAILED', error: 'is an approval in this code, but a question was recorded' });
  });
});

describe('a question of an encrypted run', () => {
  it('stores neither the choices nor the answer in the clear', async () => {
    const keys = localKeys({ current: 'k', keys: { k: Buffer.alloc(32, 7) } });
    const world = testAgents(
      agent({ name: 'seat', run: (ctx) => ctx.ask('seat', { ...ANN, choices: ['glass-secret', 'wood-secret'] }) }),
      { keys },
    );
    const run = await world.start({}, { id: 'r' });
    await run.decide({ approval: 'seat', by: 'user:ann', value: 'wood-secret' });
    const at = await world.agent.runtime.contexts.forRun('r');
    for await (const { meta, body } of scanRecords(at)) {
      expect(meta).not.toContain('secret');
      expect(Buffer.from(body ?? '').toString('latin1')).not.toContain('secret');
    }
    await world.settle();
    expect(await run.result()).toMatchObject({ answer: 'wood-secret' });
  });
});

describe('ctx.ask', () => {
  it.each<[object, string]>([
    [{}, 'given exactly one of `choices`, `text` and `answer`'],
    [{ choices: ['a', 'b'], text: true }, 'found "choices and text"'],
    [{ choices: ['a', 'b'], onTimeout: 'approve', timeout: { days: 1 } }, '`onTimeout` of a question must be reject'],
    [{ choices: ['a', 'b'], editable: true }, '`editable` of a question must be absent'],
    [{ answer: { type: 'string' } }, '`answer` must be a schema that implements Standard Schema'],
    [{ text: true, title: '' }, 'The `title` of an approval must be text of 1 to 500 characters'],
  ])('refuses %j', async (options, message) => {
    const wrong = agent({ name: 'wrong', run: (ctx) => ctx.ask('n', { ...ANN, ...options } as never) });
    const run = await testAgents(wrong).start({}, { id: 'r' });
    await run.expect({ status: 'FAILED', error: message });
  });

  it('can ask several questions at the same time', async () => {
    const both = agent({
      name: 'both',
      run: (ctx) =>
        Promise.all([
          ctx.ask('seat', { ...ANN, choices: ['window', 'aisle'] }),
          ctx.ask('note', { ...ANN, title: 'A note?', text: { maxLength: 10 } }),
        ]),
    });
    const run = await testAgents(both).start({}, { id: 'r' });
    await run.answer('note', 'x'.repeat(10));
    await run.answer('seat', 'window');
    expect((await run.result()).map(({ answer }) => answer)).toEqual(['window', 'x'.repeat(10)]);
  });
});
