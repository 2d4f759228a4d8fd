import { type Context, scanPages } from '../checkpoints/engine.ts';
import { unsentNotification } from '../core/approval.ts';
import { parsePartition } from '../core/ids.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { readApprovalMeta } from '../runtime/approvals/approval-meta.ts';
import { approvalIdFromKey, isReservedPartition, SHARDS, shardGroup, timeOrder } from '../storage/keys.ts';
import type { UnsentNotificationOf } from './operator.ts';

const MAX_FOUND = 100;
const MAX_READ_PER_SHARD = 1_000;

/** The approvals of a tenant whose notification is late, read from the `due` index. */
export async function findUnsentNotifications(context: Context): Promise<readonly UnsentNotificationOf[]> {
  const found = await Promise.all(SHARDS.map((shard) => findInShard(context, shard)));
  return found
    .flat()
    .toSorted((a, b) => a.since - b.since)
    .slice(0, MAX_FOUND);
}

/** A failed notification is due again within an hour, so the list ends there. */
async function findInShard(context: Context, shard: number): Promise<readonly UnsentNotificationOf[]> {
  const now = context.now();
  const range = { to: timeOrder(now + 3_600_000), limit: 100 };
  const found: UnsentNotificationOf[] = [];
  let read = 0;
  for await (const stored of scanPages((from) =>
    context.records.list('due', shardGroup(shard), { ...range, ...from }),
  )) {
    if (++read > MAX_READ_PER_SHARD) break;
    const approval = isReservedPartition(stored.partition) ? undefined : approvalIdFromKey(stored.key);
    if (approval === undefined) continue;
    const { tenant, run } = parsePartition(stored.partition);
    if (tenant !== context.tenant) continue;
    const meta = readApprovalMeta(stored);
    const unsent = unsentNotification(meta, now);
    if (unsent) found.push({ run, approval, ...unsent, ...omitUndefined({ agent: meta.agent }) });
  }
  return found;
}
