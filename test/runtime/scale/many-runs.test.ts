import { beforeAll, describe, expect, test } from 'vitest';
import { agent } from '../../../lambda/runtime/agent.ts';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';
import { sweepDue } from '../../../lambda/runtime/sweep.ts';
import { memoryStorage } from '../../../lambda/storage/memory.ts';
import { HOUR, MINUTE } from '../../faults/clock.ts';
import { type Counted, counted } from './counted.ts';
import { cold, invoke, START } from './process.ts';

const RUNS = 10_000;
const DUE = 10;

// A few wake within the hour, the others on another day; one in four waits for people, with a deadline.
const waiter = agent({
  name: 'waiter',
  async run(ctx, i: number) {
    if (i < DUE) await ctx.sleep('nap', { minutes: 30 });
    else if (i % 4 === 0)
      await ctx.approval('go on', { title: 'Go on?', approvers: ['user:ann'], timeout: { days: 30 } });
    else await ctx.sleep('sleep', { hours: 24 + (i % 100) });
    return i;
  },
});

describe('of 10,000 runs that wait at once', () => {
  let storage: Counted;
  beforeAll(async () => {
    storage = counted(memoryStorage());
    const process = cold(waiter, storage);
    for (let i = 0; i < RUNS; i++) {
      await process.start(i, { id: `run ${i}` });
      await invoke(process, `run ${i}`);
    }
  });

  async function sweepAt(now: number): Promise<{ report: object; delivered: readonly string[] }> {
    const delivered: Delivery[] = [];
    const { runtime } = cold(waiter, storage, now).with({ deliver: async (delivery) => void delivered.push(delivery) });
    storage.since();
    const report = await sweepDue({ runtime });
    return { report, delivered: delivered.map(({ run }) => run).sort() };
  }

  test('a sweep before anything is due looks at the lists only', async () => {
    const tell = await sweepAt(START + MINUTE);
    console.log(tell, storage.since());
    const { report } = await sweepAt(START + 2 * MINUTE);
    console.log(report, storage.since());
  });

  test('a sweep touches those that are due, and they go on', async () => {
    const { report, delivered } = await sweepAt(START + HOUR);
    const counts = storage.since();
    console.log(report, counts);
    expect(delivered).toEqual(Array.from({ length: DUE }, (_, i) => `run ${i}`));
    for (const run of delivered) await invoke(cold(waiter, storage, START + HOUR), run);
    const { store } = cold(waiter, storage, START + HOUR);
    storage.since();
    const ended: string[] = [];
    for await (const { run } of store.runs({ status: 'SUCCEEDED' })) ended.push(run);
    expect(ended.sort()).toEqual(delivered);
    console.log(storage.since());
    const some: string[] = [];
    for await (const { run } of store.runs({ status: 'SLEEPING', limit: 20 })) some.push(run);
    expect(some).toHaveLength(20);
    console.log(storage.since());
  });
});
