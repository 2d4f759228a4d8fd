import type { StoredRecord } from '../../storage/ports.ts';
import {
  type CheckpointMeta,
  checkpointMetaText,
  type HeadMeta,
  isUnreadable,
  NO_META,
  readCheckpointMeta,
} from './meta.ts';
import { type CheckpointRecord, EMPTIED } from './records.ts';

/** What is left of a checkpoint after a prune: its key, hash and story, but nothing that it held. */
export const prunedRecord = (record: CheckpointRecord): StoredRecord =>
  emptied(record.stored, { ...record.meta, segments: undefined, labels: undefined, emptied: 'pruned' });

/** What is left of a checkpoint of a deleted run until its tombstone goes: enough to refuse a late writer. */
export function deletedRecord(stored: StoredRecord, head: HeadMeta): StoredRecord {
  const meta = readCheckpointMeta(stored.meta);
  const { time, stepNumber, writeId, writer, previous } = isUnreadable(meta) ? unknownMeta(head) : meta;
  return emptied(stored, { ...unknownMeta(head), time, stepNumber, writeId, writer, previous, emptied: 'deleted' });
}

/** The readable part of a checkpoint that cannot be read: what is broken must still be deletable. */
export const unknownMeta = (head: HeadMeta): CheckpointMeta => ({
  ...NO_META,
  time: head.touchedAt,
  stepNumber: head.stepNumber,
});

function emptied({ partition, key, revision }: StoredRecord, meta: CheckpointMeta): StoredRecord {
  return { partition, key, revision: revision.replace(EMPTIED, '') + EMPTIED, meta: checkpointMetaText(meta) };
}
