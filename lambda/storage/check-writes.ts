import { HoldpointError } from '../core/errors.ts';
import type { RecordKey, StoredRecord, Write } from './ports.ts';

const MAX_WRITES = 100;

/** The key that a write is about. */
export const keyOf = (write: Write): RecordKey => ('put' in write ? write.put : write.remove);

/** Whether the condition of a write holds for what is there. */
export const holds = ({ when }: Write, found: StoredRecord | undefined): boolean =>
  when === 'absent' ? found === undefined : found?.revision === when.revision;

/** Refuses a commit that not every storage could make: more than 100 writes, or two on one key. */
export function checkWrites(writes: readonly Write[]): void {
  if (writes.length < 2) return;
  const keys = new Set(writes.map(keyOf).map(({ partition, key }) => `${partition}\0${key}`));
  if (writes.length <= MAX_WRITES && keys.size === writes.length) return;
  throw new HoldpointError(
    'INVALID_INPUT',
    `A commit takes at most ${MAX_WRITES} writes on different keys; found ${writes.length} on ${keys.size}.`,
  );
}
