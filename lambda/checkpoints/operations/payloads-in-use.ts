import type { CheckpointRecord } from '../format/records.ts';

/**
 * Whether a prune recorded a version as emptied. The prune may have crashed before, but the version counts as pruned.
 */
export function isPrunedIn(checkpoints: readonly CheckpointRecord[]): (version: number) => boolean {
  const ranges = checkpoints.flatMap(({ meta }) => meta.emptiedRanges ?? []);
  return (version) => ranges.some(([from, to]) => from <= version && version <= to);
}

/**
 * The payloads that the kept checkpoints need: those that their states refer to, and the segments of their anchors.
 * `checkpoints` are all checkpoints of a run in order, and `isKept` tells which of them stay loadable.
 */
export function payloadsInUse(
  checkpoints: readonly CheckpointRecord[],
  isKept: (record: CheckpointRecord) => boolean,
): ReadonlySet<string> {
  const needed = new Set<string>();
  // The payloads that the state refers to at this version, without those already known to be needed.
  const referenced = new Set<string>();
  let segments: readonly string[] = [];
  for (const record of checkpoints) {
    const { payloadsAdded = [], payloadsDropped = [], anchor } = record.meta;
    for (const id of payloadsAdded) referenced.add(id);
    for (const id of payloadsDropped) referenced.delete(id);
    if (anchor === undefined) segments = (record.meta.segments ?? []).map(([id]) => id);
    if (!isKept(record)) continue;
    for (const id of [...referenced, ...segments]) needed.add(id);
    referenced.clear();
  }
  return needed;
}
