import { WaitstateError } from '../core/errors.ts';
import type { RecordKey, StoredRecord, Write } from './ports.ts';

const MAX_WRITES = 100;

/** A write to a record of Waitstate. */
export type RecordWrite = Exclude<Write, { readonly foreign: object }>;

/** The key that a write changes. */
export const writeKey = (write: RecordWrite): RecordKey => ('put' in write ? write.put : write.remove);

/** Whether the condition of a write holds for the record that was found. */
export const conditionHolds = ({ when }: RecordWrite, found: StoredRecord | undefined): boolean =>
  when === 'absent' ? found === undefined : found?.revision === when.revision;

/** Checks the writes of a commit on a storage without foreign writes. */
export function checkRecordWrites(writes: readonly Write[]): readonly RecordWrite[] {
  checkWrites(writes);
  if (writes.every((write) => !('foreign' in write))) return writes as readonly RecordWrite[];
  throw new WaitstateError(
    'INVALID_INPUT',
    'This storage does not support writes of your own in a commit; use DynamoDB.',
  );
}

const uniqueKey = ({ partition, key }: RecordKey): string => `${partition}\0${key}`;

/** Rejects a commit that some storage could not make: more than 100 writes, or two writes to one key. */
export function checkWrites(writes: readonly Write[]): void {
  if (writes.length < 2) return;
  const names = writes.map((write, i) => ('foreign' in write ? `${i}` : uniqueKey(writeKey(write))));
  const keys = new Set(names);
  if (writes.length <= MAX_WRITES && keys.size === writes.length) return;
  throw new WaitstateError(
    'INVALID_INPUT',
    `A commit takes at most ${MAX_WRITES} writes on different keys; found ${writes.length} on ${keys.size}.`,
  );
}
