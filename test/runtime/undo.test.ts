import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { RetryableError } from '../../lambda/runtime/definition/agent-errors.ts';
import { testAgents } from '../../lambda/testing.ts';
import { headOf } from './storages.ts';

const undoing = <T>(run: (ctx: AgentContext) => Promise<T>) => agent({ name: 'undoing', run });

const ONCE = { retry: { maxAttempts: 1 } };

async function ticks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await tick();
}

/** An agent that books several things and fails; it logs what was undone. */
function bookings() {
  const undone: string[] = [];
  const run = async (ctx: AgentContext) => {
    for (const name of ['flight', 'hotel', 'car'])
      await ctx.step(name, () => `${name} booked`, { undo: (result) => void undone.push(result) });
    await ctx.step('note', () => 'nothing to undo');
    throw new RangeError('too expensive');
  };
  return { undone, run };
}

describe('undo', () => {
  it('undoes completed steps in reverse order and records each; then the run is FAILED with its error', async () => {
    const { undone, run: code } = bookings();
    const run = await testAgents(undoing(code)).start({});
    expect(await run.status()).toBe('FAILED');
    expect(undone).toEqual(['car booked', 'hotel booked', 'flight booked']);
    const error = await run.result().catch((lost: Error) => lost);
    expect(error).toMatchObject({ code: 'RUN_FAILED', cause: { name: 'RangeError', message: 'too expensive' } });
    const checkpoints = await run.checkpoints();
    expect(checkpoints.flatMap(({ labels }) => labels.undone ?? [])).toEqual(['car', 'hotel', 'flight']);
    const statuses = checkpoints.map(({ status }) => status);
    expect(statuses.filter((status, i) => status !== statuses[i - 1])).toEqual([
      'READY',
      'RUNNING',
      'ENDING',
      'FAILED',
    ]);
  });

  it('does not undo failed steps or steps that did not run, and nothing when the run succeeds', async () => {
    const undone: string[] = [];
    const undo = () => void undone.push('undone');
    const run = await testAgents(
      undoing(async (ctx) => {
        await ctx.step('fail', () => Promise.reject(new Error('no')), { ...ONCE, undo }).catch(() => {});
        return ctx.step('work', () => 'done', { undo });
      }),
    ).start({});
    expect(await run.result()).toBe('done');
    expect(undone).toEqual([]);
  });

  for (const moment of ['before', 'after', 'recorded'] as const) {
    for (const step of ['car', 'hotel', 'flight']) {
      it(`resumes where it was when the process crashes ${moment === 'recorded' ? 'after recording' : moment} the undo of the ${step}`, async () => {
        const { undone, run: code } = bookings();
        const world = testAgents(undoing(code));
        world.crash({ [moment]: `@undo:${step}` });
        const run = await world.start({});
        expect(await run.status()).toBe('FAILED');
        const twice = moment === 'after' ? [`${step} booked`] : [];
        expect(undone.toSorted()).toEqual(['car booked', 'hotel booked', 'flight booked', ...twice].toSorted());
        expect([...new Set(undone)]).toEqual(['car booked', 'hotel booked', 'flight booked']);
        await expect(run.result()).rejects.toMatchObject({ cause: { message: 'too expensive' } });
      });
    }
  }

  it('undoes the other steps when one cannot be undone, and names that one', async () => {
    const undone: string[] = [];
    let tries = 0;
    const run = await testAgents(
      undoing(async (ctx) => {
        await ctx.step('flight', () => 1, { undo: () => void undone.push('flight') });
        await ctx.step('hotel', () => 1, {
          undo: () => {
            tries += 1;
            throw new Error('the hotel does not answer');
          },
        });
        await ctx.step('car', () => 1, { undo: () => void undone.push('car') });
        throw new Error('no');
      }),
    ).start({});
    expect(await run.status()).toBe('FAILED');
    expect(undone).toEqual(['car', 'flight']);
    expect(tries).toBe(3);
    const failure = (await run.checkpoints()).at(-1)?.toolResults['@error'];
    expect(failure).toMatchObject({ error: { message: 'no' }, notUndone: ['hotel: the hotel does not answer'] });
  });

  it('receives the recorded result, its own idempotency key and the number of its attempt', async () => {
    const seen: unknown[] = [];
    const keys = new Set<string>();
    const run = await testAgents(
      undoing(async (ctx) => {
        await ctx.step(
          'book',
          ({ idempotencyKey }) => {
            keys.add(idempotencyKey);
            return { at: new Date(5), seats: new Map([['a', 1]]) };
          },
          {
            undo: (result, { idempotencyKey, attempt }) => {
              keys.add(idempotencyKey);
              seen.push(result, attempt);
              if (attempt === 1) throw new Error('again');
            },
          },
        );
        throw new Error('no');
      }),
    ).start({});
    expect(await run.status()).toBe('FAILED');
    const result = { at: new Date(5), seats: new Map([['a', 1]]) };
    expect(seen).toEqual([result, 1, result, 2]);
    expect(keys.size).toBe(2);
  });

  it('suspends as ENDING during a long retry delay, and resumes', async () => {
    const undone: number[] = [];
    const world = testAgents(
      undoing(async (ctx) => {
        await ctx.step('first', () => 1, { undo: () => void undone.push(1) });
        await ctx.step('second', () => 2, {
          undo: (_, { attempt }) => {
            if (attempt === 1) throw new RetryableError('busy', { retryAfter: { hours: 2 } });
            undone.push(2);
          },
        });
        throw new Error('no');
      }),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('ENDING');
    expect(undone).toEqual([]);
    expect(world.invocations.length).toBeLessThan(4);
    // A stray invocation is skipped.
    const stray = { by: 'stray', until: world.clock.now() + 600_000 };
    expect(await world.agent.invoke({ run: run.id }, stray)).toEqual({ end: 'skipped', reason: 'waiting' });
    await world.skip({ hours: 1 });
    expect(await run.status()).toBe('ENDING');
    expect(world.invocations.length).toBeLessThan(6);
    await world.skip({ hours: 1, minutes: 10 });
    expect(await run.status()).toBe('FAILED');
    expect(undone).toEqual([2, 1]);
  });

  it('waits past the deadline of the run, which no longer applies', async () => {
    let undone = 0;
    const timed = agent({
      name: 'timed',
      timeout: { hours: 1 },
      async run(ctx) {
        await ctx.step('book', () => 1, {
          undo: (_, { attempt }) => {
            if (attempt === 1) throw new RetryableError('busy', { retryAfter: { hours: 6 } });
            undone += 1;
          },
        });
        throw new Error('no');
      },
    });
    const world = testAgents(timed);
    const run = await world.start({}, { id: 'r' });
    expect((await headOf(world.agent, 'r')).work?.dueAt).toBe(world.clock.now() + 6 * 3_600_000);
    await world.skip({ hours: 5 });
    expect(await run.status()).toBe('ENDING');
    expect(world.invocations).toEqual([{ end: 'suspended', status: 'ENDING' }]);
    await world.skip({ hours: 2 });
    expect(await run.status()).toBe('FAILED');
    expect(undone).toBe(1);
    await expect(run.result()).rejects.toMatchObject({ cause: { message: 'no' } });
  });

  it('undoes the steps of parallel branches in the reverse order of their completion', async () => {
    const undone: number[] = [];
    const world = testAgents(
      undoing(async (ctx) => {
        await ctx.map('branches', [30, 10, 20], (branch, n) =>
          branch.step('book', () => ticks(n).then(() => n), { undo: (result) => void undone.push(result) }),
        );
        await ctx.sleep('long', { hours: 1 });
        throw new Error('no');
      }),
    );
    const run = await world.start({});
    await world.skip({ hours: 2 });
    expect(await run.status()).toBe('FAILED');
    expect(undone).toEqual([30, 20, 10]);
  });

  it('undoes tool calls and cached tool calls', async () => {
    const undone: string[] = [];
    const world = testAgents(
      undoing(async (ctx) => {
        const undo = (result: string) => void undone.push(result);
        await ctx.tool('book', { n: 1 }, () => 'plain', { undo });
        await ctx.tool('book', { n: 2 }, () => 'cached', { undo, cache: true });
        await ctx.tool('book', { n: 2 }, () => 'not called', { undo, cache: true });
        await ctx.sleep('long', { hours: 1 });
        throw new Error('no');
      }),
    );
    const run = await world.start({});
    await world.skip({ hours: 2 });
    expect(await run.status()).toBe('FAILED');
    expect(undone).toEqual(['cached', 'plain']);
  });

  it('names the steps whose code no longer exists, and undoes the rest', async () => {
    const undone: string[] = [];
    const { storage, world } = (() => {
      const first = testAgents(
        undoing(async (ctx) => {
          await ctx.step('flight', () => 1, { undo: () => {} });
          await ctx.step('hotel', () => 1, { undo: () => {} });
          await ctx.sleep('long', { days: 1 });
        }),
      );
      return { storage: first.agent.runtime.contexts.forTenant(), world: first };
    })();
    const { id } = await world.start({}, { id: 'r' });
    const newer = testAgents(
      undoing(async (ctx) => {
        await ctx.step('flight', () => 1, { undo: () => void undone.push('flight') });
        await ctx.step('hotel', () => 1);
        await ctx.sleep('long', { days: 1 });
      }),
      { storage: await storage },
    );
    await newer.run(id).cancel();
    expect(await newer.run(id).status()).toBe('CANCELLED');
    expect(undone).toEqual(['flight']);
    const failure = (await newer.run(id).checkpoints()).at(-1)?.toolResults['@error'];
    expect(failure).toMatchObject({ notUndone: [expect.stringMatching(/^hotel: .*no `undo` for step "hotel"/)] });
  });
});

describe('a cancel while a step is running', () => {
  it('records the result of the step, and then undoes it', async () => {
    const undone: string[] = [];
    const started: string[] = [];
    const world = testAgents(
      undoing(async (ctx) => {
        await ctx.step('first', () => 'first', { undo: (result) => void undone.push(result) });
        await ctx.step(
          'pay',
          async () => {
            started.push('pay');
            await world.agent.run(ctx.run).cancel('no more');
            return 'paid';
          },
          { undo: (result) => void undone.push(result) },
        );
        started.push('went on');
        await ctx.step('later', () => void started.push('later'));
      }),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('CANCELLED');
    expect(undone).toEqual(['paid', 'first']);
    expect(started.filter((name) => name !== 'went on')).toEqual(['pay']);
    await expect(run.result()).rejects.toMatchObject({
      code: 'RUN_CANCELLED',
      message: expect.stringMatching(/no more/),
    });
    expect((await run.checkpoints()).some(({ step }) => step === 'pay')).toBe(true);
  });

  it('is never observed by a catch in the agent', async () => {
    const seen: string[] = [];
    const world = testAgents(
      undoing(async (ctx) => {
        try {
          await ctx.step('pay', () => world.agent.run(ctx.run).cancel());
          await ctx.sleep('wait', { days: 1 });
        } catch (error) {
          seen.push(String(error));
        } finally {
          seen.push('finally');
        }
      }),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('CANCELLED');
    expect(seen).toEqual([]);
  });
});
