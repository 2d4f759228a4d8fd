import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { FatalError } from '../../lambda/runtime/definition/agent-errors.ts';
import { testAgents } from '../../lambda/testing.ts';

const careful = <T>(run: (ctx: AgentContext) => Promise<T>) => agent({ name: 'careful', run });

const ONLY = { atMostOnce: true };

interface Known {
  readonly code: string;
  readonly message: string;
}

describe('an at-most-once step', () => {
  it('records the start of each attempt before it runs', async () => {
    let seen: unknown;
    const world = testAgents(
      careful((ctx) =>
        ctx.step(
          'pay',
          async () => {
            seen = (await world.agent.store.load(ctx.run)).toolResults.pay;
            return 'paid';
          },
          ONLY,
        ),
      ),
    );
    const run = await world.start({});
    expect(seen).toMatchObject({ kind: 'step', startedAttempts: 1 });
    expect(seen).not.toHaveProperty('value');
    expect(await run.result()).toBe('paid');
  });

  it.each(['before', 'after'] as const)(
    'fails with a recorded OUTCOME_UNKNOWN when the process crashes %s its function, and does not run again',
    async (moment) => {
      let paid = 0;
      const seen: string[] = [];
      const world = testAgents(
        careful(async (ctx) => {
          await ctx
            .step(
              'pay',
              () => {
                paid += 1;
              },
              { ...ONLY, retry: { maxAttempts: 5 } },
            )
            .catch((error: Known) => void seen.push(error.code, error.message));
          await ctx.step('later', () => 1);
          return paid;
        }),
      );
      world.crash({ [moment]: 'pay' });
      world.crash({ after: 'later' });
      const run = await world.start({});
      expect(await run.status()).toBe('SUCCEEDED');
      expect(paid).toBe(moment === 'before' ? 0 : 1);
      expect(seen[0]).toBe('OUTCOME_UNKNOWN');
      expect(seen[1]).toMatch(/Step "pay" is `atMostOnce` and was started.*unknown whether it took effect/);
      expect(seen.slice(2)).toEqual(seen.slice(0, 2));
    },
  );

  it('is completed when the process crashes after its result was recorded', async () => {
    let paid = 0;
    const world = testAgents(
      careful((ctx) =>
        ctx.step(
          'pay',
          () => {
            paid += 1;
            return paid;
          },
          ONLY,
        ),
      ),
    );
    world.crash({ recorded: 'pay' });
    expect(await (await world.start({})).result()).toBe(1);
    expect(paid).toBe(1);
  });

  it('is retried after a known failure, and records the start of each attempt', async () => {
    const attempts: number[] = [];
    const world = testAgents(
      careful((ctx) =>
        ctx.step(
          'pay',
          async ({ attempt }) => {
            attempts.push(attempt);
            const { toolResults } = await world.agent.store.load(ctx.run);
            expect(toolResults.pay).toMatchObject({ startedAttempts: attempt, failures: attempt - 1 });
            if (attempt < 3) throw new Error('refused');
            return 'paid';
          },
          ONLY,
        ),
      ),
    );
    expect(await (await world.start({})).result()).toBe('paid');
    expect(attempts).toEqual([1, 2, 3]);
  });

  it('has an unknown outcome when the process crashes in a second attempt', async () => {
    let calls = 0;
    const world = testAgents(
      careful((ctx) =>
        ctx
          .step(
            'pay',
            ({ attempt }) => {
              calls += 1;
              if (attempt === 1) {
                world.crash({ after: 'pay' });
                throw new Error('refused');
              }
            },
            { ...ONLY, retry: { maxAttempts: 3, initialDelay: { minutes: 2 } } },
          )
          .catch((error: Known) => error.code),
      ),
    );
    // The crash is after the first attempt: its failure is not recorded, so its outcome is unknown too.
    const run = await world.start({});
    await world.skip({ hours: 1 });
    expect(await run.result()).toBe('OUTCOME_UNKNOWN');
    expect(calls).toBe(1);
  });

  it('has an unknown outcome when an attempt times out, and is not retried', async () => {
    let calls = 0;
    const world = testAgents(
      careful((ctx) =>
        ctx
          .step(
            'pay',
            () => {
              calls += 1;
              queueMicrotask(() => world.clock.moveTo(world.clock.now() + 5_000));
              return new Promise<void>(() => {});
            },
            { ...ONLY, timeout: { seconds: 5 } },
          )
          .catch((error: Known & { cause: Known }) => [error.code, error.cause.code]),
      ),
    );
    expect(await (await world.start({})).result()).toEqual(['OUTCOME_UNKNOWN', 'TIMED_OUT']);
    expect(calls).toBe(1);
  });

  it('is not retried after a FatalError', async () => {
    let calls = 0;
    const world = testAgents(
      careful((ctx) =>
        ctx
          .step(
            'pay',
            () => {
              calls += 1;
              throw new FatalError('declined');
            },
            ONLY,
          )
          .catch((error: Error) => error.message),
      ),
    );
    expect(await (await world.start({})).result()).toBe('declined');
    expect(calls).toBe(1);
  });

  it('fails the run when the agent does not catch its error, and runs again only when the run is retried', async () => {
    let paid = 0;
    const world = testAgents(
      careful((ctx) =>
        ctx.step(
          'pay',
          () => {
            paid += 1;
            return 'paid';
          },
          ONLY,
        ),
      ),
    );
    world.crash({ after: 'pay' });
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toMatchObject({ cause: { code: 'OUTCOME_UNKNOWN' } });
    expect(paid).toBe(1);
    await run.retry();
    expect(await run.result()).toBe('paid');
    expect(paid).toBe(2);
  });
});
