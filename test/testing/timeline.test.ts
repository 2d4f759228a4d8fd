import assert from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { agent, FatalError, RetryableError } from '../../lambda/index.ts';
import { type TestRun, testAgents } from '../../lambda/testing.ts';

const messageOf = (failing: Promise<unknown>): Promise<string> =>
  failing.then(
    () => 'It did not fail.',
    (error: Error) => error.message,
  );

/** An agent whose step needs two attempts, and which then asks for an approval. */
function shop() {
  let attempts = 0;
  return agent({
    name: 'shop',
    async run(ctx, input: { readonly item: string }) {
      const price = await ctx.step('price', () => {
        attempts += 1;
        if (attempts === 1) throw new RetryableError('busy', { retryAfter: { minutes: 5 } });
        return 12;
      });
      const { approved } = await ctx.approval('buy', {
        title: `Buy ${input.item} for ${price}?`,
        approvers: ['user:ann', 'group:finance'],
        timeout: { days: 3 },
      });
      if (!approved) throw new FatalError('Too expensive.');
      return ctx.step('pay', () => ({ paid: price }));
    },
  });
}

const WAITING = `
Run "r" of agent "shop" is WAITING_FOR_APPROVAL at 2026-01-01 00:05:00.000 UTC.
     1  2026-01-01 00:00:00.000  READY                 start; input { item: "tea" }
     2  2026-01-01 00:00:00.000  RUNNING               claim
     3  2026-01-01 00:00:00.000  RUNNING               step price failed, to be retried: busy
     4  2026-01-01 00:00:00.000  SLEEPING
     5  2026-01-01 00:05:00.000  RUNNING               claim after waiting for next attempt of price
     6  2026-01-01 00:05:00.000  RUNNING               step price → 12
     7  2026-01-01 00:05:00.000  WAITING_FOR_APPROVAL  approval buy waits
It waits for:
  approval "buy" by user:ann, group:finance: Buy tea for 12?, until 2026-01-04 00:05:00.000`.slice(1);

describe('the timeline of a run in a test', () => {
  it('has its status, its checkpoints and what it waits for', async () => {
    const world = testAgents(shop());
    const run = await world.start({ item: 'tea' }, { id: 'r' });
    await world.skip({ minutes: 5 });
    expect(await run.timeline()).toBe(WAITING);
  });

  it('shows crashes, results, undone steps and errors', async () => {
    const failing = agent({
      name: 'failing',
      async run(ctx) {
        await ctx.step('book', () => 'seat', { undo: () => {} });
        throw new FatalError('No train.');
      },
    });
    const world = testAgents(failing);
    world.crash({ after: 'book' });
    const run = await world.start({});
    const rows = (await run.timeline()).split('\n').slice(1);
    expect(rows.map((row) => row.slice(33))).toEqual([
      'READY                 start; input {}',
      'RUNNING               claim',
      'RUNNING               claim after a crash',
      'RUNNING               step book → "seat"',
      'ENDING                error: No train.',
      'ENDING                undo book',
      'FAILED                error: No train.',
    ]);
  });

  it('has at most 40 lines, each without control characters and of limited length', async () => {
    const long = agent({
      name: 'long',
      async run(ctx) {
        for (let i = 1; i <= 60; i++) await ctx.step(`step\n${i}`, () => 'x'.repeat(1_000));
        await ctx.map('signals', Array(20).fill(0), (branch) => branch.waitForSignal('go'));
      },
    });
    const run = await testAgents(long).start({});
    const lines = (await run.timeline()).split('\n');
    expect(lines.length).toBeLessThanOrEqual(40);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(180);
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}… \d+ more checkpoints …$/));
    expect(lines).toContainEqual(expect.stringMatching(/step 60 →/));
    expect(lines.at(-1)).toBe('  … and 12 more');
  });

  it('says so when the run cannot be read', async () => {
    const run = testAgents(shop()).run('unknown');
    expect(await run.timeline()).toMatch(/^The timeline of run "unknown" cannot be read: .*unknown/);
  });
});

describe('an error of a run in a test', () => {
  const waiting = async (): Promise<TestRun> => {
    const world = testAgents(shop());
    const run = await world.start({ item: 'tea' }, { id: 'r' });
    await world.skip({ minutes: 5 });
    return run as TestRun;
  };

  it.each<[string, (run: TestRun) => Promise<unknown>]>([
    ['its result is not available', (run) => run.result()],
    ['it does not have a status', (run) => run.until('SUCCEEDED')],
    ['an approval is not pending', (run) => run.approve('sell')],
    ['an approval that is to expire is not pending', (run) => run.expire('sell')],
    ['it is not as expected', (run) => run.expect({ status: 'SUCCEEDED' })],
  ])('ends with the timeline when %s', async (_, failing) => {
    const message = await messageOf(failing(await waiting()));
    expect(message.endsWith(`\n\n${WAITING}`)).toBe(true);
  });

  it('keeps its code, its cause and its fields', async () => {
    const run = await waiting();
    await run.reject('buy');
    await expect(run.result()).rejects.toMatchObject({
      name: 'WaitstateError',
      code: 'RUN_FAILED',
      scope: 'run',
      message: expect.stringMatching(/^Run "r" is FAILED: Too expensive\.\n\nRun "r" of agent "shop" is FAILED/),
      stack: expect.stringContaining('Run "r" of agent "shop" is FAILED'),
      cause: expect.objectContaining({ message: 'Too expensive.' }),
    });
    const cancelled = await waiting();
    await cancelled.cancel('not needed');
    await expect(cancelled.result()).rejects.toMatchObject({ code: 'RUN_CANCELLED', reason: 'not needed' });
  });
});

describe('run.expect', () => {
  const started = async () => {
    const world = testAgents(shop());
    const run = await world.start({ item: 'tea' });
    await world.skip({ minutes: 5 });
    return run;
  };

  it('accepts a run that is as expected', async () => {
    const run = await started();
    await run.expect({ status: 'WAITING_FOR_APPROVAL', pendingApprovals: ['buy'] });
    await run.approve('buy');
    await run.expect({ status: 'SUCCEEDED', result: { paid: 12 }, pendingApprovals: [] });
    const rejected = await started();
    await rejected.reject('buy');
    await rejected.expect({ status: 'FAILED', error: 'expensive' });
    await rejected.expect({ error: /^Too/ });
    const cancelled = await started();
    await cancelled.cancel('why not');
    await cancelled.expect({ status: 'CANCELLED', error: 'RUN_CANCELLED' });
  });

  it.each([
    [{ status: 'FAILED' }, ["  status: expected 'FAILED', received 'SUCCEEDED'"]],
    [{ result: { paid: 13 } }, ['  result: expected { paid: 13 }, received { paid: 12 }']],
    [{ error: 'expensive' }, ["  error: expected 'expensive', received none"]],
    [{ pendingApprovals: ['buy'] }, ["  pendingApprovals: expected [ 'buy' ], received []"]],
    [
      { pendingApprovals: [], result: undefined, status: 'RUNNING' },
      ['  result: expected undefined, received { paid: 12 }', "  status: expected 'RUNNING', received 'SUCCEEDED'"],
    ],
  ] as const)('throws an AssertionError for %j, with the differences', async (expected, differences) => {
    const run = await started();
    await run.approve('buy');
    const error = await run.expect(expected as never).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(assert.AssertionError);
    const [first, ...lines] = String(Object(error).message).split('\n');
    expect(first).toBe(`Run "${run.id}" is not as expected.`);
    expect(lines.slice(0, lines.indexOf(''))).toEqual(differences);
    expect(Object(error)).toMatchObject({ actual: expect.anything(), expected: expect.anything() });
  });

  it('does not mistake a run without a result for one with the result undefined', async () => {
    const run = await started();
    await expect(run.expect({ result: undefined as never })).rejects.toThrow(
      'result: expected undefined, received none',
    );
  });

  it('refuses fields that it does not know', async () => {
    const run = await started();
    for (const wrong of [{}, { stauts: 'SUCCEEDED' }, undefined])
      await expect(run.expect(wrong as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});
