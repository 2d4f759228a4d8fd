import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { testAgents } from '../../lambda/testing.ts';
import { gate } from './storages.ts';

const running = (run: (ctx: AgentContext) => unknown) => agent({ name: 'running', run });

describe('a replay that reaches a new operation before a recorded one', () => {
  it('fails within a second if the code is sequential, and names the usual causes', async () => {
    let calls = 0;
    const world = testAgents(
      running(async (ctx) => {
        calls += 1;
        // Stands for `Math.random() < 0.5`.
        await ctx.step(calls === 1 ? 'heads' : 'tails', () => 1);
        await ctx.sleep('night', { hours: 8 });
      }),
    );
    const run = await world.start({});
    const before = world.clock.now();
    await world.skip({ hours: 8 });
    const { message } = await run.result().then(
      () => new Error('It did not fail.'),
      (error: Error) => error,
    );
    expect(message).toContain('Operation "tails" comes next in this code, but "heads" comes next in the journal');
    for (const cause of ['Math.random()', 'Date.now()', 'fetch', 'changed code']) expect(message).toContain(cause);
    for (const fix of ['ctx.random()', 'ctx.now()', 'ctx.step', 'deploy', '`retry`', '`rewind`'])
      expect(message).toContain(fix);
    expect(world.clock.now() - before).toBe(8 * 3_600_000 + 1_000);
  });

  /** Runs code twice: the first process crashes while step `b` runs. `pause` takes a while in the second one only. */
  async function crashInB(
    code: (ctx: AgentContext, options: { pause(): Promise<void>; endB(): void; b(): Promise<string> }) => unknown,
    pauseMs: number,
  ) {
    const bEnds = gate();
    let processes = 0;
    const world = testAgents(
      running((ctx) => {
        processes += 1;
        const pause = async () => {
          if (processes > 1) await world.clock.sleep(pauseMs);
        };
        const b = async () => {
          if (processes === 1) await bEnds.opened;
          return 'b';
        };
        return code(ctx, { pause, endB: bEnds.open, b });
      }),
    );
    world.crash({ after: 'b' });
    return { world, run: await world.start({}, { id: 'r' }) };
  }

  it('waits ten seconds for code that ran concurrently when it was recorded', async () => {
    const replayedAfter = (pauseMs: number) =>
      crashInB(
        (ctx, { pause, endB, b }) =>
          Promise.all([
            (async () => {
              await pause();
              const a = await ctx.step('a', () => 'a');
              endB();
              return a;
            })(),
            ctx.step('b', b),
          ]),
        pauseMs,
      );
    expect(await (await replayedAfter(9_000)).run.result()).toEqual(['a', 'b']);
    const { run } = await replayedAfter(11_000);
    await expect(run.result()).rejects.toMatchObject({ cause: { code: 'STEP_MISMATCH' } });
  });

  it('gives the code the full time again for each recorded operation that it calls', async () => {
    const { run } = await crashInB(
      (ctx, { pause, endB, b }) =>
        Promise.all([
          (async () => {
            for (const name of ['a1', 'a2', 'a3']) {
              await pause();
              await ctx.step(name, () => name);
            }
            endB();
          })(),
          ctx.step('b', b),
        ]),
      6_000,
    );
    expect(await run.status()).toBe('SUCCEEDED');
  });

  it('waits for a signal that was awaited concurrently and that the next claim received', async () => {
    const crash = gate();
    let processes = 0;
    const world = testAgents(
      running((ctx) => {
        processes += 1;
        return Promise.all([
          (async () => {
            if (processes > 1) await world.clock.sleep(9_000);
            return (await ctx.waitForSignal('go')) as string;
          })(),
          ctx.step<unknown>('b', () => (processes > 1 ? 'b' : crash.opened)),
        ]);
      }),
    );
    world.crash({ after: 'b' });
    await world.agent.start({}, { id: 'r' });
    const settled = world.settle();
    await expect.poll(async () => (await world.run('r').checkpoints()).length).toBe(3);
    await world.agent.run('r').signal('go', 'signal');
    crash.open();
    await settled;
    expect(await world.run('r').result()).toEqual(['signal', 'b']);
  });
});
