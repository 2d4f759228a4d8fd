import type { CheckpointRecord } from '../format/records.ts';

/**
 * The checkpoints that a prune says it emptied. It may have died before it did, but they are no longer to be loaded.
 */
export function isPrunedIn(checkpoints: readonly CheckpointRecord[]): (version: number) => boolean {
  const ranges = checkpoints.flatMap(({ meta }) => meta.emptiedRanges ?? []);
  return (version) => ranges.some(([from, to]) => from <= version && version <= to);
}

/**
 * The payloads that some checkpoint still needs: those that its state points at, and the segments of its anchor. Takes
 * all checkpoints of a run in order, and which of them are to stay loadable.
 */
export function payloadsInUse(
  checkpoints: readonly CheckpointRecord[],
  isKept: (record: CheckpointRecord) => boolean,
): ReadonlySet<string> {
  const needed = new Set<string>();
  // What the state points at, as of the version at hand, and no version before it needed.
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
