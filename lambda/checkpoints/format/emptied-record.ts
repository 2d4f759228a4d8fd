import type { StoredRecord } from '../../storage/ports.ts';
import {
  type CheckpointMeta,
  DEFAULT_META,
  encodeCheckpointMeta,
  type HeadMeta,
  isUnreadable,
  readCheckpointMeta,
} from './meta.ts';
import { type CheckpointRecord, EMPTIED_SUFFIX } from './records.ts';

/** The record of a checkpoint after a prune: key, hash and history fields, without content. */
export const prunedRecord = (record: CheckpointRecord): StoredRecord =>
  toEmptiedRecord(record.stored, { ...record.meta, segments: undefined, labels: undefined, emptied: 'pruned' });

/** The record of a checkpoint of a deleted run while its tombstone exists: enough to reject a late writer. */
export function deletedRecord(stored: StoredRecord, head: HeadMeta): StoredRecord {
  const meta = readCheckpointMeta(stored.meta);
  const { time, stepNumber, writeId, writer, previous } = isUnreadable(meta) ? fallbackMeta(head) : meta;
  return toEmptiedRecord(stored, {
    ...fallbackMeta(head),
    time,
    stepNumber,
    writeId,
    writer,
    previous,
    emptied: 'deleted',
  });
}

/** Metadata for a checkpoint whose own is unreadable, because a damaged run must still be deletable. */
export const fallbackMeta = (head: HeadMeta): CheckpointMeta => ({
  ...DEFAULT_META,
  time: head.updatedAt,
  stepNumber: head.stepNumber,
});

function toEmptiedRecord({ partition, key, revision }: StoredRecord, meta: CheckpointMeta): StoredRecord {
  return {
    partition,
    key,
    revision: revision.replace(EMPTIED_SUFFIX, '') + EMPTIED_SUFFIX,
    meta: encodeCheckpointMeta(meta),
  };
}
