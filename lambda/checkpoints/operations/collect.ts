import { escapeId, parsePartition } from '../../core/ids.ts';
import type { StoredPayload } from '../../storage/ports.ts';
import type { Context } from '../context.ts';
import type { FailedRun, TenantScopeOptions } from './delete.ts';
import { payloadsInUse } from './payloads-in-use.ts';
import { readWholeRun } from './whole-run.ts';

// A writer stores payloads first and points at them a moment later; a day is longer than any moment.
const GRACE_MS = 24 * 3_600_000;

/** What a collection removed. */
export interface CollectResult {
  readonly payloadsRemoved: number;
  readonly bytesRemoved: number;
  readonly failed: readonly FailedRun[];
}

/** Removes the payloads that nothing points at and that were stored more than a day ago: what crashes left behind. */
export async function collect(context: Context, { everyTenant = false }: TenantScopeOptions): Promise<CollectResult> {
  const result = { payloadsRemoved: 0, bytesRemoved: 0, failed: [] as FailedRun[] };
  const cutoff = context.now() - GRACE_MS;
  const collectPartition = async (partition: string, candidates: readonly StoredPayload[]) => {
    const ids = parsePartition(partition);
    try {
      const { checkpoints, sidePayloadIds } = await readWholeRun({ ...context, ...ids, partition });
      const inUse = new Set([...payloadsInUse(checkpoints, ({ meta }) => !meta.emptied), ...sidePayloadIds]);
      const unused = candidates.filter(({ id }) => !inUse.has(id));
      await context.payloads.remove(
        partition,
        unused.map(({ id }) => id),
      );
      result.payloadsRemoved += unused.length;
      result.bytesRemoved += unused.reduce((sum, { size }) => sum + size, 0);
    } catch (error) {
      result.failed.push({ ...ids, error });
    }
  };
  let candidates: StoredPayload[] = [];
  for await (const payload of context.payloads.list(everyTenant ? undefined : escapeId('tenant', context.tenant))) {
    const partition = candidates[0]?.partition;
    if (partition !== undefined && partition !== payload.partition) {
      await collectPartition(partition, candidates);
      candidates = [];
    }
    // Only what has a name of ours: the bucket may hold something else.
    if (payload.writtenAt < cutoff && isRandomId(payload.id)) candidates.push(payload);
  }
  if (candidates[0]) await collectPartition(candidates[0].partition, candidates);
  return result;
}

/** Whether something is named as payloads are: by a random id of 12 bytes, and before it what was only handed over. */
const isRandomId = (id: string): boolean => /^((upload|handed)-)?[\w-]{16}$/.test(id);
