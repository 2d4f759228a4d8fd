import type { RunContext } from '../context.ts';
import type { CheckpointRecord, HeadRecord } from '../format/records.ts';
import { findCheckpoint, loadCheckpoint, loadFound, withChain } from '../load.ts';
import type { LoadedCheckpoint } from '../loaded-checkpoint.ts';

/** The newest checkpoint of a run; without its content if that is larger than the caller wants to load. */
export interface NewestWithin {
  readonly head: HeadRecord;
  readonly record: CheckpointRecord;
  /** Absent if the content is too large. */
  readonly loaded?: LoadedCheckpoint;
  /** The stored bytes of the content that are not in records. */
  readonly contentBytes: number;
}

/** Loads the newest checkpoint, unless its content takes more than `maxBytes` outside of records. */
export async function loadNewestWithin(at: RunContext, maxBytes: number): Promise<NewestWithin> {
  const { head, records } = await findCheckpoint(at, undefined);
  const record = records.at(-1) as CheckpointRecord;
  const isCached = at.cache.lastSeen(at.partition)?.record.hash === record.hash;
  const chain = isCached ? records : await withChain(at, records).catch(() => records);
  const contentBytes = chain.flatMap(({ meta }) => meta.segments ?? []).reduce((sum, [, , bytes]) => sum + bytes, 0);
  if (contentBytes > maxBytes && !isCached) return { head, record, contentBytes };
  // A concurrent prune looks like damage; a second load finds out.
  const loaded = await loadFound(at, { head, records: chain }).catch(() => loadCheckpoint(at));
  return { head: loaded.head, record: loaded.record, loaded, contentBytes };
}
