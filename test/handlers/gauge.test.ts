import { describe, expect, it, vi } from 'vitest';
import type { HeadMeta, RuntimeMeta } from '../../lambda/checkpoints/format/meta.ts';
import { headRecord } from '../../lambda/checkpoints/format/records.ts';
import { toPartition } from '../../lambda/core/ids.ts';
import { createGaugeHandler } from '../../lambda/handlers/factories/create-gauge-handler.ts';
import { MAX_RECORDS, MAX_REQUESTS } from '../../lambda/handlers/gauges.ts';
import { powertoolsTelemetry } from '../../lambda/handlers/powertools.ts';
import { agent } from '../../lambda/index.ts';
import type { Metric, Telemetry } from '../../lambda/runtime/telemetry.ts';
import { addSignal } from '../../lambda/runtime/wake/events.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { RecordStore } from '../../lambda/storage/ports.ts';
import { TestClock } from '../../lambda/testing.ts';
import { counted } from '../runtime/storages.ts';
import { type HandlerScene, handlerScene, lambdaContext } from './scene.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const ZEROS = {
  RunsReady: 0,
  RunsRunning: 0,
  RunsWaitingForApproval: 0,
  RunsWaitingForSignal: 0,
  RunsSleeping: 0,
  RunsEnding: 0,
  OldestReadySeconds: 0,
  OldestApprovalSeconds: 0,
  ApprovalsDueSoon: 0,
  NotificationsUnsent: 0,
  GaugesTruncated: 0,
};

const start = (scene: HandlerScene, run: string, agentName = 'refunds', tenant = 'default') =>
  scene.checkpoint({ waitstate: 1, action: 'start', run, agent: agentName, tenant, input: null });

/** Creates a run that waits for an approval. */
async function waitsForApproval(scene: HandlerScene, run: string, approval: object, tenant = 'default'): Promise<void> {
  await start(scene, run, 'quotes', tenant);
  await scene.resume({ Records: await scene.nextRecords() });
  const approvalRequest = { name: 'buy', title: 'Buy?', approvers: ['user:ann'], ...approval };
  const action = {
    waitstate: 1,
    action: 'requestApproval',
    run,
    tenant,
    expectedVersion: 2,
    approval: approvalRequest,
  };
  expect(await scene.checkpoint(action)).toMatchObject({ ok: true, suspended: true });
}

/** A gauge handler on these records, with its metrics and logs. */
function gaugeOn(records: Pick<RecordStore, 'list'>, clock = new TestClock(0), tenants = ['default']) {
  const counts = new Map<Metric, number>();
  const logged: string[] = [];
  const telemetry: Telemetry = {
    log: (_, message, fields) => void logged.push(JSON.stringify({ message, ...fields })),
    count: (metric, value = 1) => void counts.set(metric, (counts.get(metric) ?? 0) + value),
    runInvocation: (run) => run(),
  };
  return { gauge: createGaugeHandler({ records, tenants, telemetry, clock }), counts, logged };
}

const meta = (status: HeadMeta['status'], updatedAt: number, work?: RuntimeMeta): HeadMeta => ({
  uid: 'b',
  createdAt: 0,
  updatedAt,
  status,
  version: 1,
  hash: 'h',
  stepNumber: 1,
  ...(work && { work }),
});

const put = async (records: RecordStore, tenant: string, run: string, head: HeadMeta): Promise<void> =>
  records.commit([{ put: headRecord(toPartition(tenant, run), head).stored, when: 'absent' }]);

describe('gauge', () => {
  it('counts runs by status and pending approvals, and measures the age of the oldest', async () => {
    const scene = await handlerScene();
    const { clock } = scene;
    const sleepy = agent(
      {
        name: 'refunds',
        async run(ctx, { mode }: { mode: 'sleeps' | 'listens' }) {
          if (mode === 'sleeps') await ctx.sleep('long', { days: 9 });
          else await ctx.waitForSignal('go');
        },
      },
      { storage: scene.storage, clock },
    );
    const handler = sleepy.handler();
    for (const mode of ['sleeps', 'listens'] as const) {
      const { id } = await sleepy.start({ mode });
      await handler({ run: id }, lambdaContext(`agent-${mode}`));
    }
    await start(scene, 'old');
    clock.moveTo(clock.now() + 10 * MINUTE);
    await start(scene, 'young');
    // The first run is leased to its agent, the second was only saved.
    await start(scene, 'leased', 'quotes');
    await scene.resume({ Records: await scene.nextRecords() });
    await scene.checkpoint({ waitstate: 1, action: 'save', run: 'saved', expectedVersion: 0, state: 1 });
    await waitsForApproval(scene, 'soon', { timeout: { hours: 20 } });
    clock.moveTo(clock.now() + 5 * MINUTE);
    await waitsForApproval(scene, 'later', { timeout: { days: 3 }, remindAfter: { hours: 1 } });
    await waitsForApproval(scene, 'never', {});
    await start(scene, 'theirs', 'refunds', 'acme');
    await waitsForApproval(scene, 'theirs too', { timeout: { hours: 1 } }, 'acme');
    clock.moveTo(clock.now() + 5 * MINUTE);
    // Neither a signal nor a redelivery resets its age.
    await addSignal(await scene.contexts.forRun('old'), { name: 'go', value: 1 });
    expect(await scene.sweep()).toMatchObject({ delivered: 3, failed: 0 });

    const ours = gaugeOn(scene.storage.records, clock);
    expect(await ours.gauge()).toEqual({
      ...ZEROS,
      RunsReady: 2,
      RunsRunning: 2,
      RunsWaitingForApproval: 3,
      RunsWaitingForSignal: 1,
      RunsSleeping: 1,
      OldestReadySeconds: 20 * 60,
      OldestApprovalSeconds: 10 * 60,
      ApprovalsDueSoon: 1,
    });
    const both = gaugeOn(scene.storage.records, clock, ['default', 'acme', 'nobody']);
    expect(await both.gauge()).toMatchObject({ RunsReady: 3, RunsWaitingForApproval: 4, ApprovalsDueSoon: 2 });
    expect(both.counts.get('RunsReady')).toBe(3);

    clock.moveTo(clock.now() + 20 * HOUR);
    // The deadline has passed, although the approval has not been updated yet.
    expect(await ours.gauge()).toMatchObject({ ApprovalsDueSoon: 0, RunsWaitingForApproval: 3 });
  });

  it('reports 0 for every gauge without runs, so that alarms always have data', async () => {
    const { gauge, counts } = gaugeOn(memoryStorage().records);
    expect(await gauge()).toEqual(ZEROS);
    expect(Object.fromEntries(counts)).toEqual(ZEROS);
  });

  it('counts ending runs, and the runs of every configured tenant', async () => {
    const { records } = memoryStorage();
    await put(records, 'a/b', 'r', meta('ENDING', 1_000));
    await put(records, 'c', 'r', meta('READY', 5_000));
    await put(records, 'a/b', 's', meta('READY', 7_000));
    const { gauge } = gaugeOn(records, new TestClock(10_000), ['c', 'a/b']);
    expect(await gauge()).toEqual({ ...ZEROS, RunsEnding: 1, RunsReady: 2, OldestReadySeconds: 5 });
  });

  it('makes one request for each status of a tenant and each due shard, and no other reads', async () => {
    const { storage, calls } = counted(memoryStorage());
    await gaugeOn(storage.records).gauge();
    expect(calls).toEqual({ read: 0, range: 0, list: 6 + 8, commit: 0 });
    await gaugeOn(storage.records, new TestClock(0), ['a', 'b', 'c']).gauge();
    expect(calls).toEqual({ read: 0, range: 0, list: 14 + 3 * 6 + 8, commit: 0 });
  });

  it('stops at the limits of a list, reports the truncation, and still measures the oldest run', async () => {
    const { storage, calls } = counted(memoryStorage());
    const { records } = storage;
    const lease = { eventCount: 0, dueAt: 1, lease: { by: 'x', until: 1 } };
    for (let n = 0; n < MAX_RECORDS + 200; n++) {
      await put(records, 'default', `r${n}`, meta('READY', 2_000 + n));
      await put(records, 'default', `l${n}`, meta('RUNNING', 2_000, lease));
    }
    calls.list = 0;
    const whole = gaugeOn(records, new TestClock(60_000));
    expect(await whole.gauge()).toMatchObject({ RunsReady: MAX_RECORDS, RunsRunning: MAX_RECORDS, GaugesTruncated: 1 });
    expect(whole.counts.get('OldestReadySeconds')).toBe(58);
    expect(calls.list).toBe(14);
    // DynamoDB returns shorter pages if the records are large.
    const limits: (number | undefined)[] = [];
    const shortPages = (pageSize: number): Pick<RecordStore, 'list'> => ({
      list(list, group, { limit = 0, ...options } = {}) {
        if (group === 'default/READY') limits.push(limit);
        return records.list(list, group, { ...options, limit: Math.min(limit, pageSize) });
      },
    });
    expect(await gaugeOn(shortPages(400), new TestClock(60_000)).gauge()).toMatchObject({
      RunsReady: 1_000,
      GaugesTruncated: 1,
    });
    expect(limits).toEqual([1_000, 600, 200]);
    calls.list = 0;
    const shortest = await gaugeOn(shortPages(30), new TestClock(60_000)).gauge();
    expect(shortest).toMatchObject({
      RunsReady: 4 * 30,
      RunsRunning: 8 * 4 * 30,
      GaugesTruncated: 1 + 8,
      OldestReadySeconds: 58,
    });
    expect(calls.list).toBe(5 + MAX_REQUESTS + 8 * MAX_REQUESTS);
  });

  it('does not count a record that another tenant put into a list', async () => {
    const { records } = memoryStorage();
    const { lists } = headRecord('default/r', meta('READY', 0)).stored;
    const stored = headRecord('acme/r', meta('READY', 0)).stored;
    await records.commit([{ put: { ...stored, ...(lists && { lists }) }, when: 'absent' }]);
    expect(await gaugeOn(records, new TestClock(HOUR)).gauge()).toEqual(ZEROS);
  });

  it('skips unreadable records and counts them', async () => {
    const { records } = memoryStorage();
    for (const [run, updatedAt] of [
      ['bad', 1_000],
      ['good', 2_000],
    ] as const) {
      const { stored } = headRecord(toPartition('default', run), meta('READY', updatedAt, { eventCount: 0, dueAt: 1 }));
      const damaged = run === 'bad' && { meta: '1{"nonsense":true}' };
      await records.commit([{ put: { ...stored, ...damaged }, when: 'absent' }]);
    }
    const { gauge, counts, logged } = gaugeOn(records, new TestClock(10_000));
    expect(await gauge()).toMatchObject({ RunsReady: 2, OldestReadySeconds: 8 });
    expect(counts.get('MalformedRecord')).toBe(2);
    expect(logged.join()).toContain('DAMAGED');
    expect(logged.join()).not.toContain('nonsense');
    const failing = gaugeOn({ list: () => Promise.reject(new Error('not now')) });
    await expect(failing.gauge()).rejects.toThrow('not now');
  });

  it('writes counts and seconds with their units into the namespace of the deployment', async () => {
    const written = vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
    const { records } = memoryStorage();
    const telemetry = powertoolsTelemetry('gauge', { metricsNamespace: 'Shop' });
    await createGaugeHandler({ records, tenants: ['default'], telemetry, clock: new TestClock(0) })();
    const lines = written.mock.calls.map(([line]) => JSON.parse(String(line)));
    vi.restoreAllMocks();
    expect(lines).toHaveLength(1);
    const [{ Namespace, Dimensions, Metrics }] = lines[0]._aws.CloudWatchMetrics;
    expect([Namespace, Dimensions, lines[0].service]).toEqual(['Shop', [['service']], 'waitstate-gauge']);
    const units = Object.fromEntries(Metrics.map(({ Name, Unit }: { Name: string; Unit: string }) => [Name, Unit]));
    expect(Object.keys(units).toSorted()).toEqual(Object.keys(ZEROS).toSorted());
    expect(Object.keys(units).filter((name) => units[name] === 'Seconds')).toEqual([
      'OldestReadySeconds',
      'OldestApprovalSeconds',
    ]);
  });
});
