import { describe, expect, it } from 'vitest';
import { toPartition } from '../../lambda/core/ids.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import type { Runtime } from '../../lambda/runtime/runtime.ts';
import { DUE_SHARD_COUNT, dueGroup, SHARDS, shardGroup } from '../../lambda/storage/keys.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import { repeats } from '../deep.ts';
import { counted } from './storages.ts';

const RUNS = repeats(500, 2_000);

const waiting = agent({
  name: 'waiting',
  async run(ctx, input: { how: number }) {
    if (input.how === 0) await ctx.waitForSignal('go');
    else if (input.how === 1) await ctx.sleep('long', { days: 30 });
    else await ctx.approval('ask', { title: 'Go?', approvers: ['user:ann'], timeout: { days: 30 } });
  },
});

describe('a sweep', () => {
  it('reads only the records that are due, however many runs wait', async () => {
    const { storage, calls } = counted(memoryStorage());
    const world = testAgents(waiting, { storage });
    for (let i = 0; i < RUNS; i++) await world.agent.start({ how: i % 3 }, { id: `run ${i}` });
    await world.settle();
    const sweep = async (runtime: Runtime) => {
      Object.assign(calls, { read: 0, range: 0, list: 0, commit: 0 });
      const report = await sweepDue({ runtime });
      return { report, ...calls };
    };
    const nothing = await sweep(world.agent.runtime);
    expect(nothing).toMatchObject({ list: DUE_SHARD_COUNT, read: 0, range: 0, commit: 0 });
    expect(nothing.report).toMatchObject({ delivered: 0, approvals: 0, failed: [] });

    const soon = testAgents(agent({ name: 'soon', run: (ctx) => ctx.sleep('short', { hours: 1 }) }), { storage });
    for (let i = 0; i < 10; i++) await soon.start({}, { id: `soon ${i}` });
    soon.clock.moveTo(soon.clock.now() + 3_600_000);
    const ten = await sweep(soon.agent.runtime);
    expect(ten.report).toMatchObject({ delivered: 10 });
    expect(ten.list).toBe(DUE_SHARD_COUNT);
    // Each head is read and written; whether the agent is paused is read once.
    expect(ten.commit).toBe(10);
    expect(ten.read).toBeLessThanOrEqual(11);
    expect(ten.range).toBe(0);
  });

  it('delivers runs that were not claimed within a minute, and counts redeliveries', async () => {
    const storage = memoryStorage();
    const world = testAgents(waiting, { storage });
    await world.agent.start({ how: 0 }, { id: 'r' });
    const delivered: string[] = [];
    const lost = waiting.with({
      storage,
      clock: world.clock,
      log: () => {},
      deliver: async ({ run }) => void delivered.push(run),
    });
    const sweep = () => sweepDue({ runtime: lost.runtime });
    world.clock.moveTo(world.clock.now() + 59_999);
    expect(await sweep()).toMatchObject({ delivered: 0 });
    world.clock.moveTo(world.clock.now() + 1);
    expect(await sweep()).toMatchObject({ delivered: 1, redelivered: 0 });
    expect(await sweep()).toMatchObject({ delivered: 0 });
    world.clock.moveTo(world.clock.now() + 60_000);
    expect(await sweep()).toMatchObject({ delivered: 1, redelivered: 1 });
    expect(delivered).toEqual(['r', 'r']);
  });

  it('delivers a run once when two sweeps run at the same time', async () => {
    const world = testAgents(agent({ name: 'sleeper', run: (ctx) => ctx.sleep('long', { hours: 1 }) }));
    await world.start({}, { id: 'r' });
    world.clock.moveTo(world.clock.now() + 3_600_000);
    const reports = await Promise.all([1, 2, 3].map(() => sweepDue({ runtime: world.agent.runtime })));
    expect(reports.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(1);
  });

  it('continues with the other runs when one fails', async () => {
    const world = testAgents(agent({ name: 'sleeper', run: (ctx) => ctx.sleep('long', { hours: 1 }) }));
    for (let i = 0; i < 5; i++) await world.start({}, { id: `r${i}` });
    world.clock.moveTo(world.clock.now() + 3_600_000);
    const seen: string[] = [];
    const deliver = async ({ run }: { readonly run: string }) => {
      seen.push(run);
      if (run === 'r2') throw new Error('no such function');
    };
    const report = await sweepDue({ runtime: { ...world.agent.runtime, deliver } });
    expect(seen.toSorted()).toEqual(['r0', 'r1', 'r2', 'r3', 'r4']);
    expect(report).toMatchObject({ delivered: 4, failed: [{ run: 'r2' }] });
  });

  it('processes eight records of each shard at once, earliest first', async () => {
    const world = testAgents(agent({ name: 'sleeper', run: (ctx) => ctx.sleep('long', { hours: 1 }) }));
    const all = 200;
    for (let i = 0; i < all; i++) {
      await world.start({}, { id: `r${i}` });
      world.clock.moveTo(world.clock.now() + 1);
    }
    world.clock.moveTo(world.clock.now() + 3_600_000);
    const seen = new Map<string, string[]>();
    let max = 0;
    let now = 0;
    const deliver = async ({ run, tenant }: { readonly run: string; readonly tenant: string }) => {
      const shard = dueGroup(toPartition(tenant, run));
      seen.set(shard, [...(seen.get(shard) ?? []), run]);
      max = Math.max(max, ++now);
      await new Promise(setImmediate);
      now -= 1;
    };
    expect(await sweepDue({ runtime: { ...world.agent.runtime, deliver } })).toMatchObject({ delivered: all });
    expect([seen.size, max]).toEqual([DUE_SHARD_COUNT, DUE_SHARD_COUNT * 8]);
    const numbers = [...seen.values()].map((runs) => runs.map((run) => Number(run.slice(1))));
    expect(numbers).toEqual(numbers.map((each) => each.toSorted((a, b) => a - b)));
  });

  it('processes the records of one run in sequence', async () => {
    const approvalAgent = agent({
      name: 'asks',
      run: (ctx) =>
        ctx.all('both', [
          (branch) => branch.approval('one', { title: 'One?', approvers: ['user:ann'], timeout: { hours: 1 } }),
          (branch) => branch.approval('two', { title: 'Two?', approvers: ['user:ann'], timeout: { hours: 1 } }),
        ]),
    });
    const storage = memoryStorage();
    const world = testAgents(approvalAgent, { storage });
    for (let i = 0; i < 20; i++) await world.start({}, { id: `r${i}` });
    world.clock.moveTo(world.clock.now() + 3_600_000);
    let refused = 0;
    const commit: typeof storage.records.commit = async (writes) => {
      await new Promise(setImmediate);
      await storage.records.commit(writes).catch((error) => {
        refused += 1;
        throw error;
      });
    };
    const slow = approvalAgent.with({
      storage: { ...storage, records: { ...storage.records, commit } },
      clock: world.clock,
    });
    expect(await sweepDue({ runtime: slow.runtime })).toMatchObject({ approvals: 40, failed: [] });
    // Two concurrent changes of one run would conflict at its head.
    expect(refused).toBe(0);
  });

  it('continues with the other runs of a shard while one run with many due records takes long', async () => {
    const questions = Array.from({ length: 20 }, (_, i) => `q${i}`);
    const approvalAgent = agent({
      name: 'asks',
      run: (ctx) =>
        ctx.all(
          'each',
          questions.map(
            (name) => (branch) =>
              branch.approval(name, { title: name, approvers: ['user:ann'], remindAfter: { hours: 1 } }),
          ),
        ),
    });
    const storage = memoryStorage();
    const world = testAgents(approvalAgent, { storage });
    await world.start({}, { id: 'slow' });
    const shardOf = (run: string) => dueGroup(toPartition('default', run));
    const sameShard =
      Array.from({ length: 100 }, (_, i) => `r${i}`).find((run) => shardOf(run) === shardOf('slow')) ?? '';
    world.clock.moveTo(world.clock.now() + 3_599_000);
    // Due in a minute, so after the reminders.
    await waiting.with({ storage, clock: world.clock }).start({ how: 0 }, { id: sameShard });
    world.clock.moveTo(world.clock.now() + 61_000);
    const others = Promise.withResolvers<void>();
    let now = 0;
    let max = 0;
    const notify = async () => {
      max = Math.max(max, ++now);
      // Until then the sweep is busy with the first of them.
      await others.promise;
      now -= 1;
    };
    const runtime = { ...world.agent.runtime, deliver: async () => others.resolve() };
    const report = await sweepDue({ runtime, notifierFor: () => ({ url: undefined, notify }) });
    expect(report).toMatchObject({ delivered: 1, failed: [] });
    expect([max, now]).toEqual([1, 0]);
    expect(report.approvals).toBeGreaterThanOrEqual(questions.length);
  });

  it('completes the other shards when one cannot be listed, and then throws', async () => {
    const storage = memoryStorage();
    const world = testAgents(waiting, { storage });
    for (let i = 0; i < 40; i++) await world.agent.start({ how: 0 }, { id: `r${i}` });
    world.clock.moveTo(world.clock.now() + 60_000);
    const { records, payloads } = storage;
    const list: typeof records.list = (name, group, options) =>
      group === shardGroup(3) ? Promise.reject(new Error('not now')) : records.list(name, group, options);
    const seen: string[] = [];
    const half = waiting.with({
      ...{ storage: { records: { ...records, list }, payloads }, clock: world.clock, log: () => {} },
      deliver: async ({ run }) => void seen.push(run),
    });
    await expect(sweepDue({ runtime: half.runtime })).rejects.toThrow('not now');
    const others = Array.from({ length: 40 }, (_, i) => `r${i}`).filter(
      (run) => dueGroup(toPartition('default', run)) !== shardGroup(3),
    );
    expect(seen.toSorted()).toEqual(others.toSorted());
    expect(seen.length).toBeLessThan(40);
  });

  it('can be limited to its own tenant', async () => {
    const storage = memoryStorage();
    const world = testAgents(waiting, { storage });
    await waiting.with({ storage, clock: world.clock, tenant: 'other' }).start({ how: 0 }, { id: 'theirs' });
    await world.agent.start({ how: 0 }, { id: 'ours' });
    world.clock.moveTo(world.clock.now() + 60_000);
    const seen: string[] = [];
    const deliver = async ({ run, tenant }: { readonly run: string; readonly tenant: string }) =>
      void seen.push(`${tenant}/${run}`);
    const runtime = { ...world.agent.runtime, deliver };
    await sweepDue({ runtime, everyTenant: false });
    expect(seen).toEqual(['default/ours']);
    await sweepDue({ runtime });
    expect(seen).toEqual(['default/ours', 'other/theirs']);
  });

  it('removes expired links and runs', async () => {
    const storage = memoryStorage();
    const world = testAgents(waiting, { storage, retention: { days: 40 } });
    const run = await world.start({ how: 2 }, { id: 'r' });
    expect(world.notifications[0]?.links).toHaveLength(1);
    await run.approve('ask');
    await world.skip({ days: 39 });
    expect(await run.status()).toBe('SUCCEEDED');
    await world.skip({ days: 2 });
    await expect(run.status()).rejects.toMatchObject({ code: 'RUN_DELETED' });
    await world.skip({ days: 40 });
    await expect(run.status()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    for (const shard of SHARDS) expect((await storage.records.list('due', shardGroup(shard))).records).toEqual([]);
  });
});
