import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { testAgents } from '../../lambda/testing.ts';

const ONCE = { retry: { maxAttempts: 1 } };
const fail = () => Promise.reject(new Error('no'));

async function ticks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await tick();
}

/** Runs code that fails, and says which of the given steps find the run. */
async function failedRun(run: (ctx: AgentContext) => Promise<unknown>, storage: Storage = memoryStorage()) {
  const world = testAgents(agent({ name: 'failing', run }), { storage });
  const found = async (step: string | number): Promise<readonly string[]> =>
    (await createOperator(world.agent.runtime).runs({ status: 'FAILED', step })).runs.map(({ run: id }) => id);
  return { world, found };
}

describe('the step at which a run failed', () => {
  it('is the step that failed when the run undid its steps on the way', async () => {
    const { world, found } = await failedRun(async (ctx) => {
      for (const name of ['one', 'two', 'three', 'four']) await ctx.step(name, () => name, { undo: () => {} });
      await ctx.step('five', fail, ONCE);
    });
    await world.start({}, { id: 'undone' });
    expect(await found('five')).toEqual(['undone']);
    expect(await found(5)).toEqual(['undone']);
    expect(await found('one')).toEqual([]);
  });

  it('stays the same when the process crashes while steps are undone', async () => {
    const { world, found } = await failedRun(async (ctx) => {
      for (const name of ['one', 'two']) await ctx.step(name, () => name, { undo: () => {} });
      await ctx.step('three', fail, ONCE);
    });
    world.crash({ after: '@undo:two' });
    world.crash({ recorded: '@undo:one' });
    await world.start({}, { id: 'crashed' });
    expect(await found('three')).toEqual(['crashed']);
    expect(await found(3)).toEqual(['crashed']);
  });

  it('is the step that failed inside a branch, by its name, its id and its number', async () => {
    const { world, found } = await failedRun(async (ctx) => {
      await ctx.step('plan', () => 1);
      await ctx.map('trips', ['a', 'b'], async (branch, trip) => {
        await branch.step('search', () => trip, { undo: () => {} });
        if (trip === 'b') await branch.step('book', fail, ONCE);
        await ticks(50);
        await branch.step('pay', () => trip);
      });
    });
    await world.start({}, { id: 'branched' });
    expect(await found('book')).toEqual(['branched']);
    expect(await found('trips[1]/book')).toEqual(['branched']);
    expect(await found(4)).toEqual(['branched']);
    expect(await found('search')).toEqual([]);
    expect(await found('pay')).toEqual([]);
  });

  it('is the failed step when another branch completes a step after it', async () => {
    const { world, found } = await failedRun((ctx) =>
      ctx.all('both', [(branch) => branch.step('slow', () => ticks(60)), (branch) => branch.step('quick', fail, ONCE)]),
    );
    await world.start({}, { id: 'late' });
    expect(await found('quick')).toEqual(['late']);
    expect(await found(1)).toEqual(['late']);
    expect(await found('slow')).toEqual([]);
  });

  it('is every step that failed when too many branches failed', async () => {
    const { world, found } = await failedRun((ctx) =>
      ctx.map(
        'offers',
        [1, 2, 3],
        (branch, n) => branch.step(n === 2 ? 'ask' : 'call', n === 2 ? () => n : fail, ONCE),
        { minSuccessful: 2 },
      ),
    );
    await world.start({}, { id: 'quorum' });
    expect(await found('call')).toEqual(['quorum']);
    expect(await found('offers[2]/call')).toEqual(['quorum']);
    expect(await found('ask')).toEqual([]);
  });

  it('is the call of a child run that failed', async () => {
    const child = agent({ name: 'child', run: (ctx) => ctx.step('work', fail, ONCE) });
    const parent = agent({
      name: 'failing',
      async run(ctx) {
        await ctx.step('one', () => 1);
        return ctx.call(child, {});
      },
    });
    const world = testAgents(parent, { agents: [child] });
    await world.start({}, { id: 'parent' });
    const { runs } = await createOperator(world.agent.runtime).runs({ status: 'FAILED', step: 'child' });
    expect(runs.map(({ run }) => run)).toEqual(['parent']);
  });

  it('is the last step of the branch whose code threw an error', async () => {
    const { world, found } = await failedRun((ctx) =>
      ctx.all('both', [
        async (branch) => {
          await branch.step('check', () => 1);
          throw new Error('refused');
        },
        (branch) => branch.step('other', () => ticks(60)),
      ]),
    );
    await world.start({}, { id: 'thrown' });
    expect(await found('check')).toEqual(['thrown']);
    expect(await found(1)).toEqual(['thrown']);
  });

  it('is the step before when the run timed out in a wait that a later invocation resumed', async () => {
    const world = testAgents(
      agent({
        name: 'failing',
        timeout: { hours: 5 },
        async run(ctx) {
          await ctx.step('ask', () => 1);
          await ctx.sleep('short', { hours: 1 });
          await ctx.sleep('long', { hours: 100 });
        },
      }),
    );
    await world.start({}, { id: 'timed out' });
    await world.skip({ hours: 6 });
    const { runs } = await createOperator(world.agent.runtime).runs({ status: 'FAILED', step: 'ask' });
    expect(runs.map(({ run }) => run)).toEqual(['timed out']);
  });

  it('is the step of the new position after a rewind, and not that of the old one', async () => {
    const { world } = await failedRun(async (ctx) => {
      await ctx.step('one', () => 1);
      await ctx.sleep('pause', { hours: 1 });
      await ctx.step('two', () => 2);
      await ctx.step('three', fail, ONCE);
    });
    const run = await world.start({}, { id: 'rewound' });
    const { version } = (await run.checkpoints()).at(-1) ?? { version: 0 };
    await world.skip({ hours: 2 });
    await createOperator(world.agent.runtime).rewind('rewound', version);
    const { runs } = await createOperator(world.agent.runtime).runs({ status: 'READY' });
    expect(runs.map(({ statusChange }) => statusChange)).toMatchObject([{ step: 'one', stepNumber: 1 }]);
  });

  it('is kept by a prune, by a name that has a comma, a slash or a colon, and after hours', async () => {
    const storage = memoryStorage();
    const { world, found } = await failedRun(async (ctx) => {
      await ctx.step('one', () => 1, { undo: () => {} });
      await ctx.step('pay: a/b, c', fail, ONCE);
    }, storage);
    await world.start({}, { id: 'kept' });
    await world.skip({ hours: 3 });
    await createCheckpointStore(storage, { clock: () => world.clock.now() }).prune('kept', { keepLast: 1 });
    expect(await found('pay: a/b, c')).toEqual(['kept']);
    expect(await found(2)).toEqual(['kept']);
  });
});
