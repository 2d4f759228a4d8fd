import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext, BranchOptions, BranchOutcome } from '../../lambda/runtime/definition/agent-context.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import { randomFrom } from '../faults/seeded.ts';

const branching = <T>(run: (ctx: AgentContext) => Promise<T>) => agent({ name: 'branching', run });

/** Yields to other tasks. */
async function ticks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await tick();
}

const ONCE = { retry: { maxAttempts: 1 } };

describe('ctx.all and ctx.map', () => {
  it('return results in the order of the branches, whichever finishes first', async () => {
    const run = await testAgents(
      branching(async (ctx) => ({
        mapped: await ctx.map('map', [30, 20, 10], (branch, n, i) =>
          branch.step('work', async () => {
            await ticks(n);
            return [n, i];
          }),
        ),
        named: await ctx.all('named', { a: (branch) => branch.step('work', () => 'a'), b: () => 'without a step' }),
        listed: await ctx.all('listed', [() => 1, (branch) => branch.step('two', () => 2)]),
        none: await ctx.map('none', [], () => 1),
        nothing: await ctx.all('nothing', {}),
      })),
    ).start({});
    expect(await run.result()).toEqual({
      mapped: [
        [30, 0],
        [20, 1],
        [10, 2],
      ],
      named: { a: 'a', b: 'without a step' },
      listed: [1, 2],
      none: [],
      nothing: {},
    });
  });

  it('respect the concurrency limit, and start branches in order', async () => {
    let under = 0;
    let max = 0;
    const started: number[] = [];
    const random = randomFrom(7);
    const run = await testAgents(
      branching((ctx) =>
        ctx.map(
          'work',
          Array.from({ length: 20 }, (_, i) => i),
          (branch, n) =>
            branch.step('one', async () => {
              started.push(n);
              under += 1;
              max = Math.max(max, under);
              await ticks(Math.floor(random() * 10));
              under -= 1;
              return n * n;
            }),
          { concurrency: 3 },
        ),
      ),
    ).start({});
    expect(await run.result()).toEqual(Array.from({ length: 20 }, (_, i) => i * i));
    expect(max).toBe(3);
    expect(started).toEqual(Array.from({ length: 20 }, (_, i) => i));
  });

  it('fail with the first failure, and do not start the remaining branches', async () => {
    const started: number[] = [];
    const run = await testAgents(
      branching(async (ctx) => {
        const failure = await ctx
          .map(
            'work',
            [0, 1, 2, 3, 4],
            (branch, n) =>
              branch.step(
                'one',
                () => {
                  started.push(n);
                  if (n === 1) throw new RangeError('number 1');
                },
                ONCE,
              ),
            { concurrency: 1 },
          )
          .catch((error: Error) => `${error.name}: ${error.message}`);
        await ctx.step('later', () => 1);
        return failure;
      }),
    ).start({});
    expect(await run.result()).toBe('RangeError: number 1');
    expect(started).toEqual([0, 1]);
  });

  it('abandon nested branches with the branch that contains them', async () => {
    const started: string[] = [];
    const slow = (name: string) => async () => {
      started.push(name);
      await ticks(20);
    };
    const run = await testAgents(
      branching(async (ctx) => {
        await ctx.all(
          'race',
          [
            (branch) => branch.step('fast', () => ticks(5)),
            (branch) =>
              branch.map('inner', ['x'], async (leaf) => {
                await leaf.step('first', slow('first'));
                await leaf.step('second', slow('second'));
              }),
          ],
          { minSuccessful: 1 },
        );
        await ctx.step('later', () => ticks(60));
      }),
    ).start({});
    expect(await run.status()).toBe('SUCCEEDED');
    expect(started).toEqual(['first']);
  });

  it.each<[string, BranchOptions & { minSuccessful: number }]>([
    ['concurrency', { concurrency: 0, minSuccessful: 1 }],
    ['concurrency', { concurrency: Number.NaN, minSuccessful: 1 }],
    ['minSuccessful', { minSuccessful: 3 }],
    ['minSuccessful', { minSuccessful: -1 }],
    ['minSuccessful', { minSuccessful: 0.5 }],
  ])('reject an invalid `%s` option in %o', async (what, options) => {
    const run = await testAgents(branching((ctx) => ctx.map('work', [1, 2], () => 1, options))).start({});
    await expect(run.result()).rejects.toThrow(new RegExp(`\`${what}\``));
  });

  it('reject a branch that is not a function', async () => {
    const given = { a: () => 1, b: Promise.resolve(2) } as unknown as { a: () => number };
    const run = await testAgents(branching((ctx) => ctx.all('work', given))).start({});
    await expect(run.result()).rejects.toThrow(
      /`ctx\.all` needs functions that take a context; branch "b" is not a function/,
    );
  });
});

describe('the `minSuccessful` option', () => {
  it('completes when that many branches have succeeded, and returns the outcome of each branch', async () => {
    const run = await testAgents(
      branching((ctx) =>
        ctx.map(
          'offers',
          [40, 1, 80, 20],
          (branch, n) =>
            branch.step(
              'ask',
              async () => {
                await ticks(n);
                if (n === 1) throw new Error('not for sale');
                return n;
              },
              ONCE,
            ),
          { minSuccessful: 2 },
        ),
      ),
    ).start({});
    expect(await run.result()).toMatchObject([
      { status: 'fulfilled', value: 40 },
      { status: 'rejected', reason: { message: 'not for sale' } },
      { status: 'abandoned' },
      { status: 'fulfilled', value: 20 },
    ]);
  });

  it('returns outcomes when the options are in a variable, in the types too', async () => {
    const options = { concurrency: 2, minSuccessful: 1 };
    const run = await testAgents(
      branching(async (ctx) => {
        const mapped = await ctx.map('offers', [1], (_, n) => n, options);
        expectTypeOf(mapped).toEqualTypeOf<BranchOutcome<number>[]>();
        const [first] = await ctx.all('both', [() => 'a'], options);
        expectTypeOf(first).toEqualTypeOf<BranchOutcome<string>>();
        return [...mapped, first];
      }),
    ).start({});
    expect(await run.result()).toEqual([
      { status: 'fulfilled', value: 1 },
      { status: 'fulfilled', value: 'a' },
    ]);
  });

  it('fails with all reasons when too many branches have failed', async () => {
    const run = await testAgents(
      branching((ctx) =>
        ctx
          .map('offers', [1, 2, 3], (_, n) => (n === 2 ? n : Promise.reject(new Error(`no ${n}`))), {
            minSuccessful: 2,
          })
          .catch((error: AggregateError) => [error.message, error.errors.map(({ message }) => message)]),
      ),
    ).start({});
    expect(await run.result()).toEqual(['Too many branches failed for 2 to succeed.', ['no 1', 'no 3']]);
  });

  it('runs no branch when it is 0', async () => {
    const run = await testAgents(
      branching((ctx) => ctx.map('offers', [1, 2], () => Promise.reject(new Error('ran')), { minSuccessful: 0 })),
    ).start({});
    expect(await run.result()).toEqual([{ status: 'abandoned' }, { status: 'abandoned' }]);
  });

  it('counts the same branches in a replay with other timing', async () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = randomFrom(seed);
      const seen: unknown[] = [];
      const world = testAgents(
        branching(async (ctx) => {
          const outcomes = await ctx.map(
            'offers',
            [0, 1, 2, 3, 4, 5],
            async (branch, n) => {
              // Outside a step, so that the timing differs in each replay.
              await ticks(Math.floor(random() * 8));
              const delayed = await branch.step('ask', () => ticks(Math.floor(random() * 8)).then(() => n));
              await ticks(Math.floor(random() * 8));
              if (n % 3 === 0) throw new Error(`no ${n}`);
              return branch.step('take', () => delayed * 10);
            },
            { minSuccessful: 2, concurrency: 4 },
          );
          seen.push(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.status)));
          await ctx.step('later', () => 1);
          return 'done';
        }),
      );
      world.crash({ after: 'later', times: 3 });
      world.crash({ recorded: 'offers[1]/ask' });
      const run = await world.start({}, { id: 'r' });
      expect(await run.result(), `seed ${seed}`).toBe('done');
      expect(seen, `seed ${seed}`).toHaveLength(4);
      for (const again of seen) expect(again, `seed ${seed}`).toEqual(seen[0]);
    }
  });

  it('keeps the winner of a race between waits, however late the run is replayed', async () => {
    const seen: (string | undefined)[] = [];
    const world = testAgents(
      branching(async (ctx) => {
        const outcomes = await ctx.all(
          'race',
          [
            (branch) => branch.sleep('long', { days: 1 }).then(() => 'time'),
            (branch) => branch.waitForSignal('go').then(() => 'signal'),
          ],
          { minSuccessful: 1 },
        );
        seen.push(outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : [])).join());
        await ctx.sleep('more', { days: 3 });
      }),
    );
    const run = await world.start({});
    await run.signal('go');
    await world.skip({ days: 5 });
    expect(await run.status()).toBe('SUCCEEDED');
    expect(seen).toEqual(['signal', 'signal']);
  });

  it('undoes the steps of an abandoned branch, also in another process', async () => {
    const undone: string[] = [];
    const world = testAgents(
      branching(async (ctx) => {
        await ctx.all(
          'offers',
          [
            async (branch) => {
              await branch.step('book', () => 'A', { undo: (result) => void undone.push(result) });
              await branch.waitForSignal('never');
            },
            (branch) => branch.step('book', () => ticks(20).then(() => 'B'), { undo: (r) => void undone.push(r) }),
          ],
          { minSuccessful: 1 },
        );
        await ctx.sleep('long', { days: 1 });
      }),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('SLEEPING');
    await run.cancel();
    expect(await run.status()).toBe('CANCELLED');
    expect(undone).toEqual(['B', 'A']);
  });
});

describe('a run that failed in a branch', () => {
  it('resumes on retry: failed and abandoned branches run, succeeded ones do not run again', async () => {
    let broken = true;
    const calls: string[] = [];
    const world = testAgents(
      branching((ctx) =>
        ctx.map(
          'trips',
          ['a', 'b', 'c'],
          async (branch, trip) => {
            const inner = await branch.map('legs', [1, 2], (leaf, leg) =>
              leaf.step(
                'book',
                () => {
                  calls.push(`${trip}${leg}`);
                  if (broken && trip === 'b' && leg === 2) throw new Error('sold out');
                  return `${trip}${leg}`;
                },
                ONCE,
              ),
            );
            return inner.join();
          },
          { concurrency: 1 },
        ),
      ),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    broken = false;
    await run.retry();
    expect(await run.result()).toEqual(['a1,a2', 'b1,b2', 'c1,c2']);
    expect(calls).toEqual(['a1', 'a2', 'b1', 'b2', 'b2', 'c1', 'c2']);
  });

  it('resumes on retry when the agent wrapped the error or too many branches failed', async () => {
    let broken = true;
    const calls: string[] = [];
    const world = testAgents(
      branching(async (ctx) => {
        try {
          return await ctx.map(
            'offers',
            ['a', 'b', 'c'],
            (branch, offer) =>
              branch.step(
                'ask',
                () => {
                  calls.push(offer);
                  if (broken && offer !== 'a') throw new Error(`no ${offer}`);
                  return offer;
                },
                ONCE,
              ),
            { minSuccessful: 2 },
          );
        } catch (error) {
          throw new Error('No offers.', { cause: error });
        }
      }),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    broken = false;
    await run.retry();
    expect(await run.status()).toBe('SUCCEEDED');
    expect(calls).toEqual(['a', 'b', 'c', 'b', 'c']);
  });
});

describe('the count of branches', () => {
  it('is not changed by a branch that continues after the agent has returned', async () => {
    const seen: unknown[] = [];
    const world = testAgents(
      branching((ctx) =>
        ctx.all('outer', [
          async (left) => {
            const outcomes = await left.all(
              'inner',
              [
                (branch) => branch.step('quick', () => 1),
                async (branch) => {
                  await branch.step('slow', () => ticks(50));
                  await branch.step('second', () => 2).catch((error) => seen.push(error));
                },
              ],
              { minSuccessful: 2 },
            );
            seen.push(outcomes);
          },
          async () => {
            await ticks(5);
            throw new Error('failed');
          },
        ]),
      ),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    await ticks(50);
    expect(seen).toEqual([]);
  });

  /** Two of three must succeed: `quick` does, `paid` can be undone, and `slow` is abandoned. Then the run fails. */
  function twoOfThree() {
    const now = { paying: true, quick: true, failing: true };
    const actions: string[] = [];
    const agents = testAgents(
      branching(async (ctx) => {
        const outcomes = await ctx.all(
          'offers',
          [
            async (branch) => {
              if (!(await branch.step('quick', () => now.quick))) throw new Error('no offer');
            },
            (branch) =>
              branch.step(
                'pay',
                () => {
                  actions.push('pay');
                  if (!now.paying) throw new Error('no money');
                },
                { ...ONCE, undo: () => void actions.push('unpay') },
              ),
            (branch) => branch.sleep('slow', { hours: 1 }),
          ],
          { minSuccessful: 2 },
        );
        await ctx.step(
          'next',
          () => {
            if (now.failing) throw new Error('failed');
          },
          ONCE,
        );
        return outcomes.map(({ status }) => status);
      }),
    );
    return { agents, now, actions };
  }

  it('is determined again by a retry when a counted branch has to run again', async () => {
    const { agents, now, actions } = twoOfThree();
    const run = await agents.start({});
    expect(await run.status()).toBe('FAILED');
    Object.assign(now, { paying: false, failing: false });
    await run.retry();
    await agents.skip({ hours: 2 });
    expect(actions).toEqual(['pay', 'unpay', 'pay']);
    expect(await run.result()).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('is determined again by a rewind when a counted branch was undone since', async () => {
    const { agents, now, actions } = twoOfThree();
    const run = await agents.start({});
    const before = (await run.checkpoints()).find(({ toolResults }) => 'offers' in toolResults);
    Object.assign(now, { paying: false, failing: false });
    await run.rewind(before?.version ?? 0);
    await agents.skip({ hours: 2 });
    expect(actions).toEqual(['pay', 'unpay', 'pay']);
    expect(await run.result()).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('is determined again by a fork that replaces the result of an operation in a branch', async () => {
    const { agents, now } = twoOfThree();
    now.failing = false;
    const run = await agents.start({});
    expect(await run.result()).toEqual(['fulfilled', 'fulfilled', 'abandoned']);
    const counted = (await run.checkpoints()).find(({ toolResults }) => 'offers' in toolResults);
    const { id } = await run.fork({ version: counted?.version ?? 0, toolResults: { 'offers[0]/quick': false } });
    await agents.skip({ hours: 2 });
    expect(await agents.run(id).result()).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  });

  it('does not change when a step is undone in a branch that did not count', async () => {
    const actions: string[] = [];
    let failing = true;
    const world = testAgents(
      branching(async (ctx) => {
        const outcomes = await ctx.all(
          'offers',
          [
            (branch) => branch.step('quick', () => ticks(20)),
            async (branch) => {
              await branch.step('hold', () => void actions.push('hold'), { undo: () => void actions.push('release') });
              await branch.sleep('slow', { hours: 1 });
            },
          ],
          { minSuccessful: 1 },
        );
        await ctx.step(
          'next',
          () => {
            if (failing) throw new Error('failed');
          },
          ONCE,
        );
        return outcomes.map(({ status }) => status);
      }),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    failing = false;
    await run.retry();
    expect(await run.result()).toEqual(['fulfilled', 'abandoned']);
    expect(actions).toEqual(['hold', 'release']);
  });

  it('fails the run with STEP_MISMATCH when new code needs more branches than were counted', async () => {
    let minSuccessful = 1;
    const world = testAgents(
      branching(async (ctx) => {
        await ctx.all('offers', [() => 1, (branch) => branch.sleep('slow', { hours: 2 })], { minSuccessful });
        await ctx.waitForSignal('go');
      }),
    );
    const run = await world.start({});
    minSuccessful = 2;
    await run.signal('go');
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toMatchObject({
      cause: { code: 'STEP_MISMATCH', message: expect.stringContaining('needs 2 successful branches') },
    });
  });
});

describe('steps that finish together', () => {
  /** A memory storage that counts its commits. */
  function counting() {
    const { records, payloads } = memoryStorage();
    const counts = { commits: 0 };
    const storage = {
      payloads,
      records: {
        ...records,
        commit: (writes: Parameters<typeof records.commit>[0]) => {
          counts.commits += 1;
          return records.commit(writes);
        },
      },
    };
    return { storage, counts };
  }

  it('share a write: 1,000 parallel steps need only a few commits', async () => {
    const { storage, counts } = counting();
    const items = Array.from({ length: 1_000 }, (_, i) => i);
    let calls = 0;
    const world = testAgents(
      branching(async (ctx) => {
        const results = await ctx.map('work', items, (branch, n) =>
          branch.step('one', () => {
            calls += 1;
            return n;
          }),
        );
        await ctx.step('later', () => 1);
        return results.reduce((sum, n) => sum + n, 0);
      }),
      { storage },
    );
    const run = await world.start({});
    expect(await run.result()).toBe(499_500);
    expect(calls).toBe(1_000);
    // One commit each for the start, the claim, the parallel steps, the last step and the end.
    expect(counts.commits).toBeLessThanOrEqual(6);
    const last = (await run.checkpoints()).at(-1);
    expect(last?.stepNumber).toBe(1_001);
  });

  it('are all recorded when the process crashes in one of them', async () => {
    let calls = 0;
    const items = Array.from({ length: 1_000 }, (_, i) => i);
    const world = testAgents(
      branching((ctx) =>
        ctx.map('work', items, (branch, n) =>
          branch.step('one', () => {
            calls += 1;
            return n;
          }),
        ),
      ),
    );
    world.crash({ recorded: 'work[500]/one' });
    const run = await world.start({});
    expect(await run.result()).toEqual(items);
    expect(calls).toBe(1_000);
  });

  it('need one commit each when they run in sequence', async () => {
    const { storage, counts } = counting();
    const world = testAgents(
      branching(async (ctx) => {
        for (let i = 0; i < 10; i++) await ctx.step('one', () => i);
      }),
      { storage },
    );
    await world.start({});
    expect(counts.commits).toBe(13);
  });
});
