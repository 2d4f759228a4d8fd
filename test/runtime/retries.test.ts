import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { FatalError, RetryableError } from '../../lambda/runtime/definition/agent-errors.ts';
import { testAgents } from '../../lambda/testing.ts';

const retrying = <T>(run: (ctx: AgentContext) => Promise<T>) => agent({ name: 'retrying', run });

/** A step function that fails the given number of times, then returns its attempt; it records when it was called. */
function failing(times: number, now: () => number, error: () => unknown = () => new Error('not now')) {
  const at: number[] = [];
  const work = ({ attempt }: { attempt: number }) => {
    at.push(now());
    if (at.length <= times) throw error();
    return attempt;
  };
  return { work, pauses: () => at.slice(1).map((time, i) => time - (at[i] ?? 0)), calls: () => at.length };
}

describe('a step that fails', () => {
  it('is attempted three times by default, and then throws its last error in the agent', async () => {
    let count = 0;
    const run = await testAgents(
      retrying((ctx) =>
        ctx
          .step('work', () => {
            count += 1;
            throw new RangeError(`failure ${count}`);
          })
          .catch((error: Error) => `${error.name}: ${error.message}`),
      ),
    ).start({});
    expect(await run.result()).toBe('RangeError: failure 3');
    expect(count).toBe(3);
  });

  it('uses the retry policy of the agent unless the step has one', async () => {
    const counts = { agent: 0, own: 0 };
    const each = agent({
      name: 'each',
      retry: { maxAttempts: 2, initialDelay: { milliseconds: 5 } },
      async run(ctx) {
        const fail = (name: 'agent' | 'own') => () => {
          counts[name] += 1;
          throw new Error('no');
        };
        await ctx.step('as the agent', fail('agent')).catch(() => {});
        await ctx.step('own', fail('own'), { retry: { maxAttempts: 4 } }).catch(() => {});
      },
    });
    await testAgents(each).start({});
    expect(counts).toEqual({ agent: 2, own: 4 });
  });

  it('is retried after delays that grow up to the maximum, with jitter of at most half the delay', async () => {
    const expected = (share: number) => [1, 2, 4, 8, 9, 9].map((seconds) => Math.round(seconds * 1000 * share));
    for (const [random, share] of [
      [0, 0.5],
      [0.5, 0.75],
      [0.999_999, 1],
    ] as const) {
      const world = testAgents(
        retrying((ctx) =>
          ctx.step('work', work.work, {
            retry: { maxAttempts: 7, initialDelay: { seconds: 1 }, maxDelay: { seconds: 9 } },
          }),
        ),
        { random: () => random },
      );
      const work = failing(6, () => world.clock.now());
      expect(await (await world.start({})).result()).toBe(7);
      expect(work.pauses()).toEqual(expected(share));
    }
  });

  it('is retried with the backoff factor of its policy', async () => {
    const world = testAgents(
      retrying((ctx) =>
        ctx.step('work', work.work, { retry: { maxAttempts: 4, initialDelay: { milliseconds: 100 }, backoffRate: 3 } }),
      ),
      { random: () => 1 },
    );
    const work = failing(3, () => world.clock.now());
    await world.start({});
    expect(work.pauses()).toEqual([100, 300, 900]);
  });

  it('is not retried after a FatalError, which the agent can catch unchanged', async () => {
    const world = testAgents(
      retrying((ctx) =>
        ctx.step('work', work.work).catch((error: Error) => ({
          name: error.name,
          message: error.message,
          cause: String(error.cause),
        })),
      ),
    );
    const work = failing(
      9,
      () => world.clock.now(),
      () => new FatalError('never', { cause: new Error('because') }),
    );
    const run = await world.start({});
    expect(await run.result()).toMatchObject({ name: 'FatalError', message: 'never', cause: 'Error: because' });
    expect(work.calls()).toBe(1);
  });

  it('is retried after the delay of a RetryableError, within its attempts', async () => {
    const world = testAgents(retrying((ctx) => ctx.step('work', work.work).catch((error: Error) => error.message)));
    const work = failing(
      9,
      () => world.clock.now(),
      () => new RetryableError('busy', { retryAfter: { seconds: 7 } }),
    );
    const run = await world.start({});
    expect(await run.result()).toBe('busy');
    expect(work.pauses()).toEqual([7_000, 7_000]);
  });

  it('suspends the run during a long delay', async () => {
    const world = testAgents(retrying((ctx) => ctx.step('work', work.work)));
    const work = failing(
      1,
      () => world.clock.now(),
      () => new RetryableError('busy', { retryAfter: { hours: 3 } }),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('SLEEPING');
    expect(world.invocations).toEqual([{ end: 'suspended', status: 'SLEEPING' }]);
    expect(world.clock.next).toBeUndefined();
    await world.skip({ hours: 2, minutes: 59 });
    expect(work.calls()).toBe(1);
    await world.skip({ minutes: 2 });
    expect(await run.result()).toBe(2);
    expect(work.pauses()).toEqual([3 * 3_600_000]);
  });

  it('does not block other branches during a long delay', async () => {
    const world = testAgents(
      retrying((ctx) =>
        ctx.all('both', {
          slow: (branch) => branch.step('work', work.work),
          fast: async (branch) => {
            await branch.sleep('a while', { minutes: 10 });
            return branch.step('work', () => 'fast');
          },
        }),
      ),
    );
    const work = failing(
      1,
      () => world.clock.now(),
      () => new RetryableError('busy', { retryAfter: { hours: 1 } }),
    );
    const run = await world.start({});
    await world.skip({ minutes: 30 });
    const ids = Object.keys((await run.checkpoints()).at(-1)?.toolResults ?? {});
    expect(ids).toContain('both[1]/work');
    expect(await run.status()).toBe('SLEEPING');
    await world.skip({ hours: 1 });
    expect(await run.result()).toEqual({ slow: 2, fast: 'fast' });
  });

  it('keeps the number of its attempts over crashes', async () => {
    const world = testAgents(
      retrying((ctx) =>
        ctx.step('work', work.work, { retry: { maxAttempts: 4 } }).catch((error: Error) => error.message),
      ),
    );
    const work = failing(99, () => world.clock.now());
    // A crash before an attempt loses nothing; a crash after it loses the record of its failure.
    world.crash({ before: 'work', times: 1 });
    world.crash({ after: 'work', times: 1 });
    const run = await world.start({});
    expect(await run.result()).toBe('not now');
    expect(work.calls()).toBe(5);
  });

  it('fails an attempt that exceeds its timeout, and aborts its signal', async () => {
    const signals: AbortSignal[] = [];
    const world = testAgents(
      retrying((ctx) =>
        ctx
          .step(
            'work',
            ({ signal, attempt }) => {
              signals.push(signal);
              return attempt === 2 ? 'in time' : new Promise<string>(() => {});
            },
            { timeout: { seconds: 5 } },
          )
          .then(async (value) => [value, await ctx.step('other', () => 'next')]),
      ),
    );
    const run = await world.start({});
    expect(await run.result()).toEqual(['in time', 'next']);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(signals[0]?.reason).toMatchObject({ code: 'TIMED_OUT' });
  });

  it('throws TIMED_OUT in the agent when every attempt exceeds the timeout', async () => {
    const world = testAgents(
      retrying((ctx) =>
        ctx
          .step('work', () => new Promise<string>(() => {}), {
            timeout: { seconds: 5 },
            retry: { maxAttempts: 2 },
          })
          .catch((error: { code: string; message: string }) => [error.code, error.message]),
      ),
    );
    const run = await world.start({});
    expect(await run.result()).toEqual(['TIMED_OUT', 'Step "work" took longer than its timeout.']);
  });

  it.each([
    ['a function in a field', () => Object.assign(new Error('odd'), { retry: () => 1 }), 'Error: odd'],
    [
      'a custom class with a socket',
      () => Object.assign(new TypeError('odd'), { socket: new (class S {})() }),
      'TypeError: odd',
    ],
    ['a string', () => 'just text', 'Error: just text'],
    ['null', () => null, 'Error: Thrown: null'],
    ['undefined', () => undefined, 'Error: Thrown: undefined'],
    ['an object with a function', () => ({ code: 7, f: () => 1 }), /^Error: Thrown: \{.*7/],
    ['an object with a bigint', () => ({ n: 1n }), /^Error: Thrown: \{.*1n/],
    ['a circular object', () => circle(), /^Error: Thrown: /],
    ['an error whose message is not text', () => Object.assign(new Error('x'), { message: 42 }), /^Error: /],
  ])('throws the part of its error that can be stored when it throws %s', async (_, error, message) => {
    const seen: string[] = [];
    const world = testAgents(
      retrying(async (ctx) => {
        await ctx
          .step('work', () => Promise.reject(error()), { retry: { maxAttempts: 2 } })
          .catch((lost: Error) => void seen.push(`${lost.name}: ${lost.message}`));
        await ctx.step('later', () => 1);
      }),
    );
    world.crash({ after: 'later' });
    const run = await world.start({});
    expect(await run.status()).toBe('SUCCEEDED');
    expect(seen).toEqual([expect.stringMatching(message), expect.stringMatching(message)]);
    expect(seen[1]).toBe(seen[0]);
  });

  it.each([
    [{ maxAttempts: 0 }, /`retry\.maxAttempts`/],
    [{ maxAttempts: 1.5 }, /`retry\.maxAttempts`/],
    [{ backoffRate: 0.5 }, /`retry\.backoffRate`/],
    [{ initialDelay: { seconds: -1 } }, /`retry\.initialDelay`/],
    [{ maxDelay: {} }, /`retry\.maxDelay`/],
  ])('rejects the invalid retry policy %o', async (retry, message) => {
    const run = await testAgents(retrying((ctx) => ctx.step('work', () => 1, { retry }))).start({});
    await expect(run.result()).rejects.toThrow(message);
    expect(() => agent({ name: 'wrong', retry, run: async () => {} })).toThrow(message);
  });
});

function circle(): object {
  const there: { self?: object } = {};
  there.self = there;
  return there;
}
