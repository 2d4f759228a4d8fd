import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { testAgents } from '../../lambda/testing.ts';

const child = agent({ name: 'child', run: (ctx) => ctx.step('work', () => 1) });

const trips = agent({
  name: 'trips',
  async run(ctx) {
    const price = await ctx.step('search', () => 640);
    await ctx.approval('book', { title: `Book for ${price}?`, approvers: ['user:ann'] });
    await ctx.step('pay', () => price, { undo: () => {} });
    await ctx.tool('mail', { to: 'ann' }, () => 'sent');
    await ctx.call(child, {});
    await ctx.step('check', () => Promise.reject(new Error('no')), { retry: { maxAttempts: 1 } });
  },
});

async function failedTrip() {
  const world = testAgents(trips, { agents: [child] });
  const run = await world.start({}, { id: 'trip' });
  await run.approve('book', { by: 'user:ann' });
  const checkpoints = await run.checkpoints();
  const versionOf = (step: string) => checkpoints.find((each) => each.step === step)?.version ?? 0;
  return { world, handle: world.agent.run('trip'), versionOf };
}

const base = { failed: false, canBeUndone: false, undone: false };

describe('a preview of a rewind or fork', () => {
  it('lists the steps, tool calls and child runs after the checkpoint, and changes nothing', async () => {
    const { handle, versionOf } = await failedTrip();
    const preview = await handle.previewRestart(versionOf('search'));
    expect(preview).toEqual({
      version: versionOf('search'),
      steps: [
        { ...base, id: 'pay', kind: 'step', canBeUndone: true, undone: true },
        { ...base, id: 'mail', kind: 'tool' },
        { ...base, id: 'child', kind: 'call' },
        { ...base, id: 'check', kind: 'step', failed: true },
      ],
      hasMore: false,
      stateChanges: 'nothing',
      replaceableResults: ['search'],
    });
    expect(await handle.previewRestart(versionOf('search'))).toEqual(preview);
    expect(await handle.status()).toBe('FAILED');
  });

  it('lists steps before the checkpoint that were undone since, for a rewind but not for a fork', async () => {
    const { handle, versionOf } = await failedTrip();
    const ids = async (action: 'rewind' | 'fork') =>
      (await handle.previewRestart(versionOf('mail'), { action })).steps.map(({ id }) => id);
    expect(await ids('rewind')).toEqual(['pay', 'child', 'check']);
    expect(await ids('fork')).toEqual(['child', 'check']);
  });

  it('lists exactly the steps that then run again', async () => {
    const ran: string[] = [];
    const steps = agent({
      name: 'steps',
      async run(ctx) {
        for (const name of ['a', 'b', 'c']) await ctx.step(name, () => void ran.push(name));
        await ctx.all('both', [
          (one) => one.step('d', () => void ran.push('d')),
          (two) => two.step('e', () => void ran.push('e')),
        ]);
      },
    });
    for (const version of [2, 3, 4, 5]) {
      const world = testAgents(steps);
      const run = await world.start({}, { id: `run-${version}` });
      const handle = world.agent.run(run.id);
      const { steps: listed } = await handle.previewRestart(version);
      ran.length = 0;
      await handle.rewind(version);
      await world.settle();
      expect(listed.map(({ id }) => id.replace(/^both\[\d\]\//, '')).toSorted()).toEqual(ran.toSorted());
    }
  });

  it('lists the steps of turns whose entries are no longer in the journal', async () => {
    const turns = agent({
      name: 'turns',
      state: { initial: () => 0 },
      async turn(ctx, n: number) {
        await ctx.step(`step ${n}`, () => n);
        return n === 3 ? ctx.done(n) : n + 1;
      },
    });
    const world = testAgents(turns);
    await world.start({}, { id: 'turning' });
    const preview = await world.agent.run('turning').previewRestart(2);
    expect(preview.steps.map(({ id }) => id.replace(/^turn \d+\//, ''))).toEqual([
      'step 0',
      'step 1',
      'step 2',
      'step 3',
    ]);
    expect(preview.stateChanges).toBe('everything');
  });

  it('says that another state changes only later code when the agent replays its results', async () => {
    const counting = agent({
      name: 'counting',
      state: { initial: () => ({ n: 0 }) },
      async run(ctx) {
        await ctx.step('one', () => 1);
        return ctx.waitForSignal('go');
      },
    });
    const world = testAgents(counting);
    await world.start({}, { id: 'counted' });
    const handle = world.agent.run('counted');
    expect(await handle.previewRestart()).toMatchObject({ stateChanges: 'later code', replaceableResults: ['one'] });
    expect(await handle.previewRestart(1)).toMatchObject({ stateChanges: 'everything', replaceableResults: [] });
  });
});
