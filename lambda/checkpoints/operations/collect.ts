import { escapeId, parsePartition } from '../../core/ids.ts';
import { INVOCATION_ID_PREFIX, UPLOAD_ID_PREFIX } from '../../storage/keys.ts';
import type { StoredPayload } from '../../storage/ports.ts';
import type { Context } from '../context.ts';
import type { FailedRun, TenantScopeOptions } from './delete.ts';
import { payloadsInUse } from './payloads-in-use.ts';
import { readWholeRun } from './whole-run.ts';

// A writer stores payloads first and refers to them a moment later; a day is far more than that takes.
export const COLLECT_GRACE_MS = 24 * 3_600_000;

/** What a collection removed. */
export interface CollectResult {
  readonly payloadsRemoved: number;
  readonly bytesRemoved: number;
  readonly failed: readonly FailedRun[];
}

/** Removes payloads that no checkpoint or side record refers to and that are older than a day: orphans of crashes. */
export const collect = async (
  context: Context,
  { everyTenant = false }: TenantScopeOptions,
): Promise<CollectResult> => {
  const { stoppedAfter: _none, ...result } = await collectPayloads(context, {
    scope: everyTenant ? undefined : escapeId('tenant', context.tenant),
    writtenBefore: context.now() - COLLECT_GRACE_MS,
  });
  return result;
};

/** Which payloads to examine, and when to stop. */
interface Collection {
  /** An escaped tenant. @default all tenants */
  readonly scope: string | undefined;
  /** Only payloads that were written before this time, which is at least a day ago. */
  readonly writtenBefore: number;
  /** Only payloads that were written at this time or later. @default all */
  readonly writtenSince?: number;
  /** Only payloads behind this partition. @default all */
  readonly after?: string | undefined;
  /** Whether to stop before the next partition. @default never */
  readonly isOver?: () => boolean;
}

/** Collects payloads, and returns the last examined partition if it stopped early. */
export async function collectPayloads(
  context: Context,
  { scope, writtenBefore, writtenSince = 0, after, isOver = () => false }: Collection,
): Promise<CollectResult & { readonly stoppedAfter?: string }> {
  const result = { payloadsRemoved: 0, bytesRemoved: 0, failed: [] as FailedRun[] };
  const isOld = ({ writtenAt }: StoredPayload): boolean =>
    writtenAt < Math.min(writtenBefore, context.now() - COLLECT_GRACE_MS);
  const collectPartition = async (partition: string, candidates: readonly StoredPayload[]) => {
    if (candidates.length === 0) return;
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
  let current: string | undefined;
  let candidates: StoredPayload[] = [];
  for await (const payload of context.payloads.list(scope, after)) {
    if (current !== undefined && current !== payload.partition) {
      await collectPartition(current, candidates);
      if (isOver()) return { ...result, stoppedAfter: current };
      candidates = [];
    }
    current = payload.partition;
    // Only ids of payloads: the bucket may hold other objects.
    if (isOld(payload) && payload.writtenAt >= writtenSince && isRandomId(payload.id)) candidates.push(payload);
  }
  if (current !== undefined) await collectPartition(current, candidates);
  return result;
}

/** The ids of payloads: 12 random bytes, with a prefix for uploads and invocation payloads. */
const RANDOM_ID = new RegExp(`^(${UPLOAD_ID_PREFIX}|${INVOCATION_ID_PREFIX})?[\\w-]{16}$`);
const isRandomId = (id: string): boolean => RANDOM_ID.test(id);
