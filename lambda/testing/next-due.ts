import type { Runtime } from '../runtime/runtime.ts';
import { SHARDS, shardGroup, timeOrder } from '../storage/keys.ts';

/** The time of the next due record after a given time, or undefined. */
export async function nextDueAt({ contexts }: Runtime, after: number): Promise<number | undefined> {
  const { records } = await contexts.forTenant();
  let next: number | undefined;
  for (const shard of SHARDS) {
    const page = await records.list('due', shardGroup(shard), { from: timeOrder(after + 1), limit: 1 });
    const [first] = page.records;
    if (!first) continue;
    const [stored] = await records.read(first.partition, [first.key]);
    const order = Number(stored?.lists?.due?.order);
    if (order > after && (next === undefined || order < next)) next = order;
  }
  return next;
}
