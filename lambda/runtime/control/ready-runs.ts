import type { Context } from '../../checkpoints/engine.ts';
import { readHead, scanPages } from '../../checkpoints/engine.ts';
import { parsePartition } from '../../core/ids.ts';
import { hasEnded } from '../../core/status.ts';
import { HEAD_KEY, SHARDS, shardGroup, tenantGroup, timeOrder } from '../../storage/keys.ts';
import type { Delivery } from '../runtime.ts';
import { isReady } from '../wake/wake.ts';

/**
 * The runs of a tenant that somebody should run, those first that became ready first. What is parked is for other code:
 * the sweeper brings it back later each time, and whoever has new code asks for it.
 */
export async function* readyRuns(
  context: Context,
  { parked = false }: { readonly parked?: boolean } = {},
): AsyncGenerator<Delivery> {
  for (const status of ['READY', 'ENDING']) {
    const group = tenantGroup(context.tenant, status);
    for await (const stored of scanPages((from) => context.records.list('status', group, { limit: 100, ...from }))) {
      const { meta } = readHead(stored);
      const isParked = meta.work?.parked !== undefined;
      if (isReady(meta) && (parked || !isParked)) yield { ...parsePartition(stored.partition), agent: meta.agent };
    }
  }
}

/**
 * The runs of all tenants whose short lease somebody holds. When that is a process that has died, another one can take
 * them over under its id, without waiting for the end of the lease.
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
