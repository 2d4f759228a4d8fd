import { escapeId, parsePartition } from '../../core/ids.ts';
import { INVOCATION_ID_PREFIX, UPLOAD_ID_PREFIX } from '../../storage/keys.ts';
import type { StoredPayload } from '../../storage/ports.ts';
import type { Context } from '../context.ts';
import type { FailedRun, TenantScopeOptions } from './delete.ts';
import { payloadsInUse } from './payloads-in-use.ts';
import { readWholeRun } from './whole-run.ts';

// A writer stores payloads first and refers to them a moment later; a day is far more than that takes.
const GRACE_MS = 24 * 3_600_000;

/** What a collection removed. */
export interface CollectResult {
  readonly payloadsRemoved: number;
  readonly bytesRemoved: number;
  readonly failed: readonly FailedRun[];
}

/** Removes payloads that no checkpoint or side record refers to and that are older than a day: orphans of crashes. */
export async function collect(context: Context, { everyTenant = false }: TenantScopeOptions): Promise<CollectResult> {
  const result = { payloadsRemoved: 0, bytesRemoved: 0, failed: [] as FailedRun[] };
  const isOld = ({ writtenAt }: StoredPayload): boolean => writtenAt < context.now() - GRACE_MS;
  const collectPartition = async (partition: string, candidates: readonly StoredPayload[]) => {
    const ids = parsePartition(partition);
    try {
      const { checkpoints, sidePayloadIds } = await readWholeRun({ ...context, ...ids, partition });
      const inUse = new Set([...payloadsInUse(checkpoints, ({ meta }) => !meta.emptied), ...sidePayloadIds]);
      // Before the first record was read, the time of the storage was not known.
      const unused = candidates.filter((each) => isOld(each) && !inUse.has(each.id));
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
    // Only ids of payloads: the bucket may hold other objects.
    if (isOld(payload) && isRandomId(payload.id)) candidates.push(payload);
  }
  if (candidates[0]) await collectPartition(candidates[0].partition, candidates);
  return result;
}

/** The ids of payloads: 12 random bytes, with a prefix for uploads and invocation payloads. */
const RANDOM_ID = new RegExp(`^(${UPLOAD_ID_PREFIX}|${INVOCATION_ID_PREFIX})?[\\w-]{16}$`);
const isRandomId = (id: string): boolean => RANDOM_ID.test(id);
