import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { type TestEnvironment, testAgents } from '../../lambda/testing.ts';
import { counted, describeOnEachStorage, gate, headOf } from './storages.ts';

const MINUTE = 60_000;
const ends = (world: Pick<TestEnvironment, 'invocations'>) =>
  world.invocations.map((invoked) => ('status' in invoked ? `${invoked.end} ${invoked.status}` : invoked.end));

/** Advances the clock inside a step. */
const pass = (world: Pick<TestEnvironment, 'clock'>, minutes: number) =>
  world.clock.moveTo(world.clock.now() + minutes * MINUTE);

describe('a function that is about to time out', () => {
  it('yields between steps, and the next invocation resumes the run; each step runs once', async () => {
    const actions: number[] = [];
    const long = agent({
      name: 'long',
      async run(ctx) {
        for (let i = 1; i <= 10; i++) {
          await ctx.step('work', () => {
            pass(world, 4 + 59 / 60);
            actions.push(i);
          });
        }
        return actions.length;
      },
    });
    const world = testAgents(long);
    const run = await world.start({}, { id: 'r' });
    expect(await run.result()).toBe(10);
    expect(actions).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(ends(world)).toEqual([...Array(3).fill('suspended READY'), 'finished SUCCEEDED']);
  });

  it('yields between turns', async () => {
    const turning = agent({
      name: 'turning',
      state: { initial: () => ({ turns: 0 }) },
      async turn(ctx, state: { turns: number }) {
        if (state.turns === 8) return ctx.done(state.turns);
        await ctx.step('work', () => pass(world, 4));
        return { turns: state.turns + 1 };
      },
    });
    const world = testAgents(turning);
    expect(await (await world.start({}, { id: 'r' })).result()).toBe(8);
    expect(ends(world).filter((end) => end === 'suspended READY').length).toBeGreaterThanOrEqual(1);
    expect(world.invocations.every(({ end }) => end !== 'failed')).toBe(true);
  });

  it('aborts a step that takes too long and runs it again; a run that makes no progress fails', async () => {
    let attempts = 0;
    let aborted = 0;
    const stuck = agent({
      name: 'stuck',
      async run(ctx) {
        await ctx.step('quick', () => 1);
        await ctx.step('slow', ({ signal }) => {
          attempts += 1;
          signal.addEventListener('abort', () => {
            aborted += 1;
          });
          pass(world, 15);
          return new Promise(() => {});
        });
      },
    });
    const world = testAgents(stuck);
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow('without getting past checkpoint');
    expect({ attempts, aborted }).toEqual({ attempts: 6, aborted: 6 });
  });

  it('runs a step again that was too slow once, and ignores its late result', async () => {
    let attempts = 0;
    const late = gate();
    const slow = agent({
      name: 'slow',
      run: (ctx) =>
        ctx.step('slow', async () => {
          attempts += 1;
          if (attempts > 1) return 'second';
          pass(world, 15);
          await late.opened;
          return 'first';
        }),
    });
    const world = testAgents(slow);
    const run = await world.start({}, { id: 'r' });
    late.open();
    await world.settle();
    expect(await run.result()).toBe('second');
    expect(ends(world)).toEqual(['suspended READY', 'finished SUCCEEDED']);
  });

  it('does not run an at-most-once step again: its outcome is unknown', async () => {
    let attempts = 0;
    const once = agent({
      name: 'once',
      run: (ctx) =>
        ctx.step(
          'slow',
          () => {
            attempts += 1;
            pass(world, 15);
            return new Promise(() => {});
          },
          { atMostOnce: true },
        ),
    });
    const world = testAgents(once);
    const run = await world.start({}, { id: 'r' });
    await expect(run.result()).rejects.toMatchObject({ cause: { code: 'OUTCOME_UNKNOWN' } });
    expect(attempts).toBe(1);
  });
});

describe('a sleep', () => {
  const sleeper = agent({
    name: 'sleeper',
    async run(ctx, input: { milliseconds: number }) {
      await ctx.sleep('nap', input);
      return 'awake';
    },
  });

  it('stays in the process for up to ten seconds', async () => {
    const world = testAgents(sleeper);
    const run = await world.start({ milliseconds: 10_000 }, { id: 'r' });
    expect(await run.result()).toBe('awake');
    expect(ends(world)).toEqual(['finished SUCCEEDED']);
    expect(world.clock.now()).toBe(new Date('2026-01-01T00:00:10Z').getTime());
    expect((await run.checkpoints()).map(({ status }) => status)).not.toContain('SLEEPING');
  });

  it('suspends the run for a longer time, and ends to the millisecond when the sweeper runs', async () => {
    const world = testAgents(sleeper);
    const run = await world.start({ milliseconds: 10_001 }, { id: 'r' });
    expect(await run.status()).toBe('SLEEPING');
    const due = world.clock.now() + 10_001;
    expect((await headOf(world.agent, 'r')).work).toMatchObject({ dueAt: due });
    world.clock.moveTo(due - 1);
    await world.settle();
    expect(await run.status()).toBe('SLEEPING');
    world.clock.moveTo(due);
    await world.settle();
    expect(await run.result()).toBe('awake');
    expect(ends(world)).toEqual(['suspended SLEEPING', 'finished SUCCEEDED']);
  });

  it('suspends the run for a short time too when the function is about to time out', async () => {
    const world = testAgents(sleeper, { functionTimeout: { seconds: 9 } });
    await world.start({ milliseconds: 8_000 }, { id: 'r' });
    expect(ends(world)).toContain('suspended SLEEPING');
    await world.skip({ seconds: 8 });
    expect(await world.run('r').result()).toBe('awake');
  });

  it('can last months, and parallel ones end one after the other', async () => {
    const woke: string[] = [];
    const months = agent({
      name: 'months',
      run: (ctx) =>
        ctx.map('sleeps', [3, 1, 2], async (branch, n) => {
          await branch.sleep('long', { days: 30 * n });
          woke.push(await branch.step('note', () => String(n)));
        }),
    });
    const world = testAgents(months);
    const run = await world.start({}, { id: 'r' });
    await world.skip({ days: 89 });
    expect(await run.status()).toBe('SLEEPING');
    await world.skip({ days: 1 });
    expect(await run.status()).toBe('SUCCEEDED');
    expect([...new Set(woke)]).toEqual(['1', '2', '3']);
  });
});

describe('a run that takes longer than its timeout', () => {
  const waits = {
    sleeps: (ctx: AgentContext) => ctx.sleep('long', { days: 9 }),
    'waits for a signal': (ctx: AgentContext) => ctx.waitForSignal('go'),
    'waits for people': (ctx: AgentContext) => ctx.approval('ask', { title: 'Go?', approvers: ['user:ann'] }),
  };

  it.each(Object.entries(waits))('is undone and fails with TIMED_OUT while it %s', async (_, wait) => {
    const actions: string[] = [];
    const timed = agent({
      name: 'timed',
      timeout: { hours: 1 },
      async run(ctx) {
        await ctx.step('pay', () => void actions.push('pay'), { undo: () => void actions.push('unpay') });
        await wait(ctx);
      },
    });
    const world = testAgents(timed);
    const handle = await world.start({}, { id: 'r' });
    await world.skip({ minutes: 59 });
    expect(actions).toEqual(['pay']);
    await world.skip({ minutes: 1 });
    await expect(handle.result()).rejects.toMatchObject({ code: 'RUN_FAILED', cause: { code: 'TIMED_OUT' } });
    expect(await handle.status()).toBe('FAILED');
    expect(actions).toEqual(['pay', 'unpay']);
    expect(await handle.approvals()).toEqual([]);
  });

  it('records a running step, and then undoes it', async () => {
    const [started, finish] = [gate(), gate()];
    const actions: string[] = [];
    const timed = agent({
      name: 'timed',
      timeout: { minutes: 5 },
      async run(ctx) {
        await ctx.step(
          'pay',
          async () => {
            started.open();
            await finish.opened;
            actions.push('pay');
          },
          { undo: () => void actions.push('unpay') },
        );
        await ctx.step('next', () => void actions.push('next'));
      },
    });
    const world = testAgents(timed);
    await world.agent.start({}, { id: 'r' });
    const settled = world.settle();
    await started.opened;
    pass(world, 6);
    expect(await sweepDue({ runtime: world.agent.runtime })).toMatchObject({ timedOut: 1 });
    finish.open();
    await settled;
    await expect(world.run('r').result()).rejects.toMatchObject({ cause: { code: 'TIMED_OUT' } });
    expect(actions).toEqual(['pay', 'unpay']);
  });

  it('suspends when it starts to wait, and the sweeper ends it, without a busy loop', async () => {
    const timed = agent({
      name: 'timed',
      timeout: { minutes: 5 },
      async run(ctx) {
        await ctx.step('slow', () => pass(world, 6));
        await ctx.waitForSignal('go');
      },
    });
    const { storage, calls } = counted(memoryStorage());
    const world = testAgents(timed, { storage });
    const handle = await world.start({}, { id: 'r' });
    await expect(handle.result()).rejects.toMatchObject({ cause: { code: 'TIMED_OUT' } });
    expect(world.invocations.length).toBeLessThanOrEqual(2);
    expect(calls.commit).toBeLessThan(10);
  });

  it('fails at its first claim when the timeout has passed before', async () => {
    let ran = false;
    const timed = agent({
      name: 'timed',
      run: () => {
        ran = true;
      },
    });
    const world = testAgents(timed);
    await world.agent.start({}, { id: 'r', timeout: { minutes: 5 } });
    pass(world, 6);
    await world.settle();
    await expect(world.run('r').result()).rejects.toMatchObject({ cause: { code: 'TIMED_OUT' } });
    expect(ran).toBe(false);
  });

  it('uses the timeout of the start options', async () => {
    const timed = agent({ name: 'timed', timeout: { hours: 1 }, run: (ctx) => ctx.sleep('long', { hours: 3 }) });
    const world = testAgents(timed);
    const handle = await world.start({}, { id: 'r', timeout: { hours: 5 } });
    await world.skip({ hours: 4 });
    expect(await handle.status()).toBe('SUCCEEDED');
    await expect(world.agent.start({}, { timeout: { hours: -1 } })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('gets the full timeout again when it is retried, rewound or forked, and no more than that', async () => {
    const timed = agent({ name: 'timed', timeout: { hours: 1 }, run: (ctx) => ctx.waitForSignal('go') });
    const world = testAgents(timed);
    const handle = await world.start({}, { id: 'r' });
    for (const again of ['retry', 'retry', 'rewind'] as const) {
      await world.skip({ hours: 20 });
      expect(await handle.status()).toBe('FAILED');
      await (again === 'retry' ? handle.retry() : handle.rewind(2));
      await world.skip({ minutes: 59 });
      expect(await handle.status()).toBe('WAITING_FOR_SIGNAL');
      await world.skip({ minutes: 1 });
      expect(await handle.status()).toBe('FAILED');
    }
    const { id } = await handle.fork({ version: 2 });
    expect(await world.run(id).status()).toBe('WAITING_FOR_SIGNAL');
    await world.skip({ hours: 1 });
    expect(await world.run(id).status()).toBe('FAILED');
  });

  it('can be a child run', async () => {
    const child = agent({ name: 'child', timeout: { hours: 1 }, run: (ctx) => ctx.waitForSignal('go') });
    const parent = agent({
      name: 'parent',
      run: (ctx) => ctx.call(child, {}).catch((error: Error) => Object(error.cause).code as string),
    });
    const world = testAgents(parent, { agents: [child] });
    const handle = await world.start({}, { id: 'r' });
    await world.skip({ hours: 1 });
    expect(await handle.result()).toBe('TIMED_OUT');
  });
});

describeOnEachStorage('timers', (open) => {
  it('wake runs that sleep, and end runs that time out', async () => {
    const long = agent({
      name: 'long',
      timeout: { days: 1 },
      async run(ctx, input: { hours: number }) {
        for (let i = 1; i <= 5; i++) await ctx.step('work', () => pass(world, 4));
        await ctx.sleep('nap', { seconds: 5 });
        await ctx.sleep('night', input);
        return 'done';
      },
    });
    const world = testAgents(long, { storage: await open() });
    const run = await world.start({ hours: 8 }, { id: 'short' });
    const never = await world.start({ hours: 80 }, { id: 'long' });
    expect(await run.status()).toBe('SLEEPING');
    await world.skip({ hours: 8 });
    expect(await run.result()).toBe('done');
    await world.skip({ days: 1 });
    await expect(never.result()).rejects.toMatchObject({ cause: { code: 'TIMED_OUT' } });
  });
});
