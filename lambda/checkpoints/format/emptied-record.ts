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

/** What is left of a checkpoint after a prune: its key, hash and story, but nothing that it held. */
export const prunedRecord = (record: CheckpointRecord): StoredRecord =>
  toEmptiedRecord(record.stored, { ...record.meta, segments: undefined, labels: undefined, emptied: 'pruned' });

/** What is left of a checkpoint of a deleted run until its tombstone goes: enough to refuse a late writer. */
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

/** The readable part of a checkpoint that cannot be read: what is broken must still be deletable. */
export const fallbackMeta = (head: HeadMeta): CheckpointMeta => ({
  ...DEFAULT_META,
  time: head.touchedAt,
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
