import { isWaitstateError } from '../../core/errors.ts';
import { escapeId } from '../../core/ids.ts';
import { COLLECTION_KEY, collectionPartition } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import type { Context } from '../context.ts';
import { metaOnlyRecord, sideMeta } from '../format/side-record.ts';
import { tryCommit } from '../try-commit.ts';
import { COLLECT_GRACE_MS, type CollectResult, collectPayloads } from './collect.ts';

const PASS_INTERVAL_MS = 24 * 3_600_000;

/** The progress of the scheduled collection of a tenant. */
interface Progress {
  /** When the current or last pass started. */
  readonly startedAt: number;
  /** The pass examines payloads that were written at this time or later; earlier passes examined the others. */
  readonly writtenSince: number;
  /** The last examined partition of a pass that has not ended. */
  readonly stoppedAfter?: string | undefined;
  /** Whether a run could not be read for now, so that the next pass examines the same payloads again. */
  readonly mustRepeat?: boolean | undefined;
}

export interface ScheduledCollectionOptions {
  /** Whether to collect the payloads of all tenants. The progress is then kept with the tenant of the context. */
  readonly everyTenant: boolean;
  /** Whether to stop, and to continue at the next call. */
  readonly isOver: () => boolean;
}

/**
 * Collects payloads once a day, in as many calls as it takes. Each pass reads only runs that wrote payloads since the
 * pass before, because a payload that was in use then is removed by whatever ends its use. Returns undefined when no pass
 * is due.
 */
export async function continueCollection(
  context: Context,
  { everyTenant, isOver }: ScheduledCollectionOptions,
): Promise<CollectResult | undefined> {
  const partition = collectionPartition(context.tenant);
  const [stored] = await context.records.read(partition, [COLLECTION_KEY]);
  const pass = duePass(stored, context.now());
  if (!pass) return undefined;
  const { startedAt, writtenSince, stoppedAfter: after } = pass;
  const { stoppedAfter, ...result } = await collectPayloads(context, {
    scope: everyTenant ? undefined : escapeId('tenant', context.tenant),
    writtenBefore: startedAt - COLLECT_GRACE_MS,
    writtenSince,
    after,
    isOver,
  });
  const mustRepeat = pass.mustRepeat || result.failed.some(({ error }) => !isWaitstateError(error, 'DAMAGED'));
  const progress: Progress = { startedAt, writtenSince, stoppedAfter, mustRepeat };
  const put = metaOnlyRecord({ partition }, COLLECTION_KEY, progress);
  // When the commit fails, another call has made the same progress or more.
  await tryCommit(context.records, [{ put, when: stored ? { revision: stored.revision } : 'absent' }]);
  return result;
}

/** The pass to start or to continue; undefined when the last one was less than a day ago. */
function duePass(stored: StoredRecord | undefined, now: number): Progress | undefined {
  const last = stored && readProgress(stored);
  if (!last) return { startedAt: now, writtenSince: 0 };
  if (last.stoppedAfter !== undefined) return last;
  if (now - last.startedAt < PASS_INTERVAL_MS) return undefined;
  return { startedAt: now, writtenSince: last.mustRepeat ? last.writtenSince : last.startedAt - COLLECT_GRACE_MS };
}

/** The stored progress; without a readable one, a new pass examines all payloads. */
function readProgress(stored: StoredRecord): Progress | undefined {
  const { startedAt, writtenSince, stoppedAfter, mustRepeat } = sideMeta(stored);
  if (typeof startedAt !== 'number' || typeof writtenSince !== 'number') return undefined;
  return {
    startedAt,
    writtenSince,
    stoppedAfter: typeof stoppedAfter === 'string' ? stoppedAfter : undefined,
    mustRepeat: mustRepeat === true,
  };
}
