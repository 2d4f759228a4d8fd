import { type Context, readHead, scanPages } from '../../checkpoints/engine.ts';
import { parsePartition } from '../../core/ids.ts';
import { hasEnded } from '../../core/status.ts';
import { HEAD_KEY, SHARDS, shardGroup, tenantGroup, timeOrder } from '../../storage/keys.ts';
import type { Delivery } from '../runtime.ts';
import { isReady } from '../wake/wake.ts';

/** Which ready runs to list. */
export interface ReadyRunsOptions {
  /** Whether to list runs that wait for other code. @default false */
  readonly includesParked?: boolean;
  /** Only runs that became ready at or after this time. @default all */
  readonly since?: number;
}

/**
 * The READY runs of a tenant, and its ENDING runs that have no lease, oldest first. Parked runs wait for other code and
 * are left out by default: the sweeper delivers them at growing intervals, and a process with new code asks for them.
 */
export async function* readyRuns(
  context: Context,
  { includesParked = false, since }: ReadyRunsOptions = {},
): AsyncGenerator<Delivery> {
  const range = { limit: 100, ...(since !== undefined && { from: timeOrder(since) }) };
  for (const status of ['READY', 'ENDING']) {
    const group = tenantGroup(context.tenant, status);
    for await (const stored of scanPages((from) => context.records.list('status', group, { ...range, ...from }))) {
      const { meta } = readHead(stored);
      const isParked = meta.work?.parkedReason !== undefined;
      if (isReady(meta) && (includesParked || !isParked))
        yield { ...parsePartition(stored.partition), agent: meta.agent };
    }
  }
}

/**
 * The runs of all tenants that one claimant holds a short lease on. When that process has died, another process can
 * take them over under the same id without waiting for the lease to end.
 */
export async function* runsLeasedBy(context: Context, by: string, leaseMs: number): AsyncGenerator<Delivery> {
  const range = { to: timeOrder(context.now() + leaseMs), limit: 100 };
  for (const shard of SHARDS) {
    for await (const stored of scanPages((from) =>
      context.records.list('due', shardGroup(shard), { ...range, ...from }),
    )) {
      if (stored.key !== HEAD_KEY) continue;
      const { meta } = readHead(stored);
      if (meta.work?.lease?.by === by && !hasEnded(meta.status))
        yield { ...parsePartition(stored.partition), agent: meta.agent };
    }
  }
}
