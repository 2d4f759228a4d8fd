import { ConditionFailedError, type RecordStore, type Write } from '../storage/ports.ts';

/** Commits and returns true, or returns false when a condition failed because of a concurrent write. */
export async function tryCommit(records: RecordStore, writes: readonly Write[]): Promise<boolean> {
  try {
    await records.commit(writes);
    return true;
  } catch (error) {
    if (error instanceof ConditionFailedError) return false;
    throw error;
  }
}
