import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import {
  describeOnEachStorage,
  gate,
  headIn,
  headOf,
  interceptCommits,
  otherProcessOptions,
  withEventBefore,
} from './storages.ts';

const MINUTE = 60_000;

/** An agent of five steps that logs each one. */
function working(maxClaimsWithoutProgress = 5) {
  const actions: number[] = [];
  const worker = agent({
    name: 'worker',
    maxClaimsWithoutProgress,
    async run(ctx) {
      for (let i = 1; i <= 5; i++) await ctx.step('work', () => void actions.push(i));
      return actions.length;
    },
  });
  return { worker, actions };
}

/** An agent that stays in its first step until the gate is opened. */
function holdingAgent() {
  const [started, finish] = [gate(), gate()];
  const actions: string[] = [];
  const holder = agent({
    name: 'holder',
    async run(ctx) {
      await ctx.step('first', async () => {
        actions.push('first');
        started.open();
        await finish.opened;
      });
      return ctx.step('second', () => actions.push('second'));
    },
  });
  return { holder, actions, started, finish };
}

describe('a claim', () => {
  it('appends a version and takes a lease until the function times out, plus a grace period', async () => {
    const { holder, started, finish } = holdingAgent();
    const world = testAgents(holder);
    await world.agent.start({}, { id: 'r' });
    const until = world.clock.now() + MINUTE;
    const invoked = world.agent.invoke({ run: 'r' }, { by: 'a', until });
    await started.opened;
    const head = await headOf(world.agent, 'r');
    expect(head).toMatchObject({ status: 'RUNNING', version: 2 });
    expect(head.work).toMatchObject({
      lease: { by: 'a', until: until + 2_000 },
      // The due time does not change: most invocations end before it.
      dueAt: until,
      claims: 1,
      claimedVersion: 2,
    });
    finish.open();
    expect(await invoked).toEqual({ end: 'finished', status: 'SUCCEEDED' });
    expect((await headOf(world.agent, 'r')).work?.lease).toBeUndefined();
  });

  it('is skipped by a second invocation while the first one runs', async () => {
    const { holder, actions, started, finish } = holdingAgent();
    const world = testAgents(holder);
    await world.agent.start({}, { id: 'r' });
    const claimant = { by: 'a', until: world.clock.now() + MINUTE };
    const invoked = world.agent.invoke({ run: 'r' }, claimant);
    await started.opened;
    expect(await world.agent.invoke({ run: 'r' }, { ...claimant, by: 'b' })).toEqual({
      end: 'skipped',
      reason: 'taken',
    });
    finish.open();
    expect(await invoked).toMatchObject({ status: 'SUCCEEDED' });
    expect(actions).toEqual(['first', 'second']);
  });

  it('succeeds for one of several concurrent invocations', async () => {
    const { worker, actions } = working();
    const world = testAgents(worker);
    await world.agent.start({}, { id: 'r' });
    const until = world.clock.now() + MINUTE;
    const both = await Promise.all(
      ['a', 'b', 'c'].map((by) => worker.with(otherProcessOptions(world)).invoke({ run: 'r' }, { by, until })),
    );
    expect(both.map(({ end }) => end).toSorted()).toEqual(['finished', 'skipped', 'skipped']);
    expect(actions).toEqual([1, 2, 3, 4, 5]);
  });

  it('takes over its own lease immediately when the same invocation is retried', async () => {
    const { worker, actions } = working();
    const world = testAgents(worker);
    await world.agent.start({}, { id: 'r' });
    const claimant = { by: 'a', until: world.clock.now() + MINUTE };
    const dying = worker.with({
      ...otherProcessOptions(world),
      probe: (moment, _, step) => (moment === 'recorded' && step === 'work#2' ? 'crash' : undefined),
    });
    expect(await dying.invoke({ run: 'r' }, claimant)).toMatchObject({ end: 'failed' });
    expect(await world.agent.invoke({ run: 'r' }, { ...claimant, by: 'b' })).toEqual({
      end: 'skipped',
      reason: 'taken',
    });
    expect(await world.agent.invoke({ run: 'r' }, claimant)).toMatchObject({ status: 'SUCCEEDED' });
    expect(actions).toEqual([1, 2, 3, 4, 5]);
  });

  it('succeeds after a crash only when the lease has ended and the sweeper delivers the run', async () => {
    const { worker } = working();
    const world = testAgents(worker);
    await world.agent.start({}, { id: 'r' });
    const dying = worker.with({ ...otherProcessOptions(world), probe: () => 'crash' });
    await dying.invoke({ run: 'r' }, { by: 'a', until: world.clock.now() + 5 * MINUTE });
    await world.skip({ minutes: 5 });
    expect(await world.run('r').status()).toBe('RUNNING');
    await world.skip({ seconds: 2 });
    expect(await world.run('r').status()).toBe('SUCCEEDED');
  });

  it('is skipped for a run that waits, has ended, was deleted or never existed', async () => {
    const waiting = agent({ name: 'waiting', run: (ctx) => ctx.waitForSignal('go') });
    const world = testAgents(waiting);
    const run = await world.start({}, { id: 'r' });
    const before = await run.checkpoints();
    const claimant = { by: 'a', until: world.clock.now() + MINUTE };
    const invoke = (id: string) => world.agent.invoke({ run: id }, claimant);
    expect(await invoke('r')).toEqual({ end: 'skipped', reason: 'waiting' });
    expect(await run.checkpoints()).toEqual(before);
    await run.signal('go');
    expect(await invoke('r')).toEqual({ end: 'skipped', reason: 'ended' });
    await world.agent.store.delete('r');
    expect(await invoke('r')).toEqual({ end: 'skipped', reason: 'gone' });
    expect(await invoke('nobody')).toEqual({ end: 'skipped', reason: 'gone' });
  });

  it('takes effect together with a concurrent signal', async () => {
    const waiting = agent({ name: 'waiting', run: (ctx) => ctx.waitForSignal('go') });
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'RUNNING');
    const world = testAgents(waiting, { storage });
    await world.agent.start({}, { id: 'r' });
    storage.hook.event = () => world.agent.run('r').signal('go', 1);
    const outcome = await world.agent.invoke({ run: 'r' }, { by: 'a', until: world.clock.now() + MINUTE });
    expect(outcome).toEqual({ end: 'finished', status: 'SUCCEEDED' });
  });
});

describe('a process that continues after its lease has ended', () => {
  it('is fenced and stops; its step is recorded once, by the other process', async () => {
    const actions: string[] = [];
    const worker = agent({
      name: 'worker',
      async run(ctx) {
        const first = await ctx.step('first', ({ idempotencyKey }) => {
          actions.push('first');
          return idempotencyKey;
        });
        await ctx.step('second', () => void actions.push('second'));
        return first;
      },
    });
    const storage = memoryStorage();
    const world = testAgents(worker, { storage });
    await world.agent.start({}, { id: 'r' });
    const [paused, continued] = [gate(), gate()];
    // The commit of the first step is delayed until long after the lease has ended.
    const frozen = interceptCommits(storage, async (writes, commit) => {
      const isStep = writes.some((write) => 'put' in write && write.put.key === 'c0000000003');
      if (isStep) {
        paused.open();
        await continued.opened;
      }
      await commit();
    });
    const zombie = worker.with({ ...otherProcessOptions(world), storage: frozen });
    const invoked = zombie.invoke({ run: 'r' }, { by: 'zombie', until: world.clock.now() + MINUTE });
    await paused.opened;
    await world.skip({ minutes: 2 });
    expect(await world.run('r').status()).toBe('SUCCEEDED');
    const before = await world.run('r').checkpoints();
    continued.open();
    expect(await invoked).toEqual({ end: 'fenced' });
    expect(await world.run('r').checkpoints()).toEqual(before);
    expect(actions).toEqual(['first', 'first', 'second']);
    expect(before.map(({ step, kind }) => step ?? kind)).toEqual(['save', 'claim', 'claim', 'first', 'second', 'save']);
  });

  it('is fenced by a rewind, too', async () => {
    const { holder, actions, started, finish } = holdingAgent();
    const world = testAgents(holder);
    await world.agent.start({}, { id: 'r' });
    const invoked = world.agent.invoke({ run: 'r' }, { by: 'a', until: world.clock.now() + MINUTE });
    await started.opened;
    await world.agent.run('r').rewind(1);
    finish.open();
    expect(await invoked).toEqual({ end: 'fenced' });
    await world.settle();
    expect(await world.run('r').status()).toBe('SUCCEEDED');
    expect(actions).toEqual(['first', 'first', 'second']);
  });
});

describe('duplicate deliveries', () => {
  it('run every step once', async () => {
    const { worker, actions } = working();
    const world = testAgents(worker, { deliverTwice: true });
    const run = await world.start({}, { id: 'r' });
    expect(await run.result()).toBe(5);
    expect(actions).toEqual([1, 2, 3, 4, 5]);
    expect(world.invocations.map(({ end }) => end).toSorted()).toEqual(['finished', 'skipped']);
  });
});

describe('a run whose processes crash', () => {
  it('fails with the reason after `maxClaimsWithoutProgress` claims without progress', async () => {
    const { worker, actions } = working();
    const world = testAgents(worker);
    world.crash({ before: 'work#3', times: 100 });
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('FAILED');
    const failure = await run.result().catch((error: Error) => error.message);
    expect(failure).toContain('was invoked 5 times without getting past checkpoint');
    expect(failure).toContain('("work#2")');
    expect(actions).toEqual([1, 2]);
    expect(world.invocations.filter(({ end }) => end === 'failed')).toHaveLength(6);
    const other = testAgents(working(2).worker);
    other.crash({ before: 'work', times: 100 });
    await other.start({}, { id: 'r' });
    expect(other.invocations.filter(({ end }) => end === 'failed')).toHaveLength(2);
  });

  it('undoes its completed steps when it fails in this way', async () => {
    const actions: string[] = [];
    const paying = agent({
      name: 'paying',
      async run(ctx) {
        await ctx.step('pay', () => void actions.push('paid'), { undo: () => void actions.push('unpaid') });
        await ctx.step('ship', () => void actions.push('shipped'));
      },
    });
    const world = testAgents(paying);
    world.crash({ before: 'ship', times: 100 });
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('FAILED');
    expect(actions).toEqual(['paid', 'unpaid']);
  });

  it('continues without a limit as long as it makes progress', async () => {
    const { worker } = working();
    const world = testAgents(worker);
    for (let i = 1; i <= 5; i++) {
      const step = i === 1 ? 'work' : `work#${i}`;
      for (const moment of ['before', 'after', 'recorded'] as const) world.crash({ [moment]: step });
    }
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('SUCCEEDED');
    expect(world.invocations.filter(({ end }) => end === 'failed')).toHaveLength(15);
  });

  it('can be retried when the cause is fixed, and resumes where it was', async () => {
    const { worker, actions } = working();
    const world = testAgents(worker);
    world.crash({ before: 'work#3', times: 6 });
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('FAILED');
    await run.retry();
    expect(await run.result()).toBe(5);
    expect(actions).toEqual([1, 2, 3, 4, 5]);
  });
});

describe('deliveries that fail', () => {
  it('do not count as attempts, and are repeated at growing intervals', async () => {
    const { worker, actions } = working();
    const storage = memoryStorage();
    const world = testAgents(worker, { storage });
    const run = await world.agent.start({}, { id: 'r' });
    const times: number[] = [];
    const deliver = async () => {
      times.push(world.clock.now());
      throw new Error('The function is throttled.');
    };
    const broken = worker.with({ ...otherProcessOptions(world), deliver });
    for (let minute = 0; minute < 300; minute++) {
      world.clock.moveTo(world.clock.now() + MINUTE);
      const { failed } = await sweepDue({ runtime: broken.runtime });
      expect(failed.every(({ error }) => String(error).includes('throttled'))).toBe(true);
    }
    const pauses = times.slice(1).map((time, i) => (time - (times[i] ?? 0)) / MINUTE);
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(await run.status()).toBe('READY');
    expect((await headOf(world.agent, 'r')).work?.claims).toBe(0);
    await world.skip({ hours: 1 });
    expect(await run.status()).toBe('SUCCEEDED');
    expect(actions).toEqual([1, 2, 3, 4, 5]);
  });
});

describe('a run whose state is newer than the code', () => {
  const stateful = (version: number) =>
    agent({
      name: 'stateful',
      state: {
        version,
        initial: () => ({ v: version }),
        migrations: Object.fromEntries(
          Array.from({ length: version - 1 }, (_, i) => [i + 1, (state: unknown) => ({ ...Object(state), v: i + 2 })]),
        ),
      },
      async run(ctx) {
        await ctx.sleep('night', { hours: 8 });
        return ctx.state;
      },
    });

  it('is parked with the reason in its head, is delivered at growing intervals, and resumes on newer code', async () => {
    const storage = memoryStorage();
    const newer = testAgents(stateful(2), { storage });
    await newer.start({}, { id: 'r' });
    const older = testAgents(stateful(1), { storage, now: new Date('2026-01-01T08:00:00Z') });
    await older.settle();
    expect(older.invocations).toEqual([{ end: 'skipped', reason: 'parked' }]);
    const parked = await headOf(older.agent, 'r');
    expect(parked.status).toBe('READY');
    expect(parked.work?.parkedReason).toContain('schema version 2');
    expect(parked.work?.claims ?? 0).toBe(0);
    const first = (parked.work?.dueAt ?? 0) - older.clock.now();
    expect(first).toBeGreaterThanOrEqual(MINUTE);
    await older.skip({ hours: 1 });
    const later = await headOf(older.agent, 'r');
    expect((later.work?.dueAt ?? 0) - older.clock.now()).toBeGreaterThan(first);
    expect(older.invocations.length).toBeLessThan(10);
    const again = testAgents(stateful(3), { storage, now: new Date('2026-01-02T00:00:00Z') });
    await again.settle();
    expect(await again.run('r').result()).toEqual({ v: 3 });
    expect((await headOf(again.agent, 'r')).work?.parkedReason).toBeUndefined();
  });
});

describeOnEachStorage('claims', (open) => {
  it('fence a process that continues after its lease, and count crashes without progress', async () => {
    const { holder, actions, started, finish } = holdingAgent();
    const storage = await open();
    const world = testAgents(holder, { storage });
    await world.agent.start({}, { id: 'r' });
    const zombie = holder.with(otherProcessOptions(world));
    const invoked = zombie.invoke({ run: 'r' }, { by: 'zombie', until: world.clock.now() + 20 * MINUTE });
    await started.opened;
    expect(await world.agent.invoke({ run: 'r' }, { by: 'b', until: world.clock.now() })).toMatchObject({
      reason: 'taken',
    });
    // This process does not notice that time passes.
    const other = testAgents(holder, { storage, now: new Date(world.clock.now() + 30 * MINUTE) });
    finish.open();
    await Promise.all([other.settle(), invoked]);
    expect(await other.run('r').status()).toBe('SUCCEEDED');
    expect(actions.filter((each) => each === 'second').length).toBeLessThanOrEqual(2);
    const steps = (await other.run('r').checkpoints()).flatMap(({ step }) => step ?? []);
    expect(steps).toEqual(['first', 'second']);

    const { worker } = working();
    const dying = testAgents(worker, { storage });
    dying.crash({ before: 'work#2', times: 100 });
    const run = await dying.start({}, { id: 'dying' });
    await expect(run.result()).rejects.toMatchObject({ code: 'RUN_FAILED' });
  });
});
