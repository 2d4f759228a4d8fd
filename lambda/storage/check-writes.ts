import { WaitstateError } from '../core/errors.ts';
import type { RecordKey, StoredRecord, Write } from './ports.ts';

const MAX_WRITES = 100;

/** A write on a record. */
export type RecordWrite = Exclude<Write, { readonly foreign: object }>;

/** The key that a write is about. */
export const writeKey = (write: RecordWrite): RecordKey => ('put' in write ? write.put : write.remove);

/** Whether the condition of a write holds for what is there. */
export const conditionHolds = ({ when }: RecordWrite, found: StoredRecord | undefined): boolean =>
  when === 'absent' ? found === undefined : found?.revision === when.revision;

/** The writes of a commit, where all must be on records. */
export function checkRecordWrites(writes: readonly Write[]): readonly RecordWrite[] {
  checkWrites(writes);
  if (writes.every((write) => !('foreign' in write))) return writes as readonly RecordWrite[];
  throw new WaitstateError('INVALID_INPUT', 'This storage takes no writes of your own in a commit; DynamoDB does.');
}

const uniqueKey = ({ partition, key }: RecordKey): string => `${partition}\0${key}`;

/** Refuses a commit that not every storage could make: more than 100 writes, or two on one key. */
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
