import { beforeAll, describe, expect, test } from 'vitest';
import { agent } from '../../../lambda/runtime/agent/agent.ts';
import { sweepDue } from '../../../lambda/runtime/control/sweep.ts';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';
import { DUE_SHARD_COUNT } from '../../../lambda/storage/keys.ts';
import { memoryStorage } from '../../../lambda/storage/memory.ts';
import { repeats } from '../../deep.ts';
import { HOUR, MINUTE } from '../../faults/clock.ts';
import { type CountingStorage, countingStorage, NOTHING } from './counted.ts';
import { inColdProcess, invoke, START } from './process.ts';

const RUNS = repeats(2_000, 10_000);
const DUE = 10;
const ASKED = RUNS / 4 - 3;

// A few wake within the hour, the others on another day; one in four waits for an approval with a deadline.
const waiter = agent({
  name: 'waiter',
  async run(ctx, i: number) {
    if (i < DUE) await ctx.sleep('nap', { minutes: 30 });
    else if (i % 4 === 0)
      await ctx.approval('continue', { title: 'Continue?', approvers: ['user:ann'], timeout: { days: 30 } });
    else await ctx.sleep('sleep', { hours: 24 + (i % 100) });
    return i;
  },
});

describe(`${RUNS.toLocaleString('en')} waiting runs`, () => {
  let storage: CountingStorage;
  beforeAll(async () => {
    storage = countingStorage(memoryStorage());
    const process = inColdProcess(waiter, storage);
    for (let i = 0; i < RUNS; i++) {
      await process.start(i, { id: `run ${i}` });
      await invoke(process, `run ${i}`);
    }
  }, 120_000);

  async function sweepAt(now: number): Promise<{ report: object; delivered: readonly string[] }> {
    const delivered: Delivery[] = [];
    const { runtime } = inColdProcess(waiter, storage, now).with({
      deliver: async (delivery) => void delivered.push(delivery),
    });
    storage.since();
    const report = await sweepDue({ runtime });
    return { report, delivered: delivered.map(({ run }) => run).sort() };
  }

  test('notify their approvers once, and then a sweep reads only the lists', async () => {
    const { report } = await sweepAt(START + MINUTE);
    expect(report).toMatchObject({ approvals: ASKED, delivered: 0, failed: [] });
    const telling = storage.since();
    expect(telling.commits).toBe(ASKED);
    expect(telling.reads).toBeLessThanOrEqual(4 * ASKED);
    await sweepAt(START + 2 * MINUTE);
    expect(storage.since()).toEqual({ ...NOTHING, lists: DUE_SHARD_COUNT });
  });

  test('are read by a sweep only if they are due, and then resume', async () => {
    const { report, delivered } = await sweepAt(START + HOUR);
    expect(report).toMatchObject({ delivered: DUE, approvals: 0, failed: [] });
    expect(delivered).toEqual(Array.from({ length: DUE }, (_, i) => `run ${i}`));
    // Each head is read and written once; whether the agent is paused is read once.
    expect(storage.since()).toMatchObject({
      lists: DUE_SHARD_COUNT,
      reads: DUE + 1,
      ranges: 0,
      commits: DUE,
      opens: 0,
    });
    for (const run of delivered) await invoke(inColdProcess(waiter, storage, START + HOUR), run);
    for (const run of delivered) expect(await inColdProcess(waiter, storage).run(run).status()).toBe('SUCCEEDED');
  });

  test('are listed by reading only the pages that are shown', async () => {
    const { store } = inColdProcess(waiter, storage, START + HOUR);
    storage.since();
    const ended: string[] = [];
    for await (const { run } of store.runs({ status: 'SUCCEEDED' })) ended.push(run);
    expect(ended).toHaveLength(DUE);
    expect(storage.since()).toMatchObject({ lists: 1, recordsRead: DUE, reads: 0 });
    const asleep: string[] = [];
    for await (const { run } of store.runs({ status: 'SLEEPING', limit: 20 })) asleep.push(run);
    expect(asleep).toHaveLength(20);
    expect(storage.since()).toMatchObject({ lists: 1, recordsRead: 100, reads: 0 });
  });

  test('do not wake when another one is decided', async () => {
    const { run } = await nextAsked();
    const process = inColdProcess(waiter, storage, START + HOUR);
    storage.since();
    await process.run(run).decide({ approval: 'continue', by: 'user:ann', answer: 'approve' });
    expect(await invoke(inColdProcess(waiter, storage, START + HOUR), run)).toMatchObject({ status: 'SUCCEEDED' });
    const counts = storage.since();
    expect([counts.lists, counts.commits]).toEqual([0, 3]);
    expect(counts.reads + counts.ranges).toBeLessThan(16);
  });

  async function nextAsked(): Promise<{ readonly run: string }> {
    const { store } = inColdProcess(waiter, storage, START + HOUR);
    for await (const found of store.runs({ status: 'WAITING_FOR_APPROVAL', limit: 1 })) return found;
    throw new Error('Nobody is asked.');
  }
});
