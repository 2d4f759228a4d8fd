import { ConditionFailedError, type RecordStore, type Write } from '../storage/ports.ts';

/** Commits, unless somebody has just done something with the records; says whether it did. */
export async function tryCommit(records: RecordStore, writes: readonly Write[]): Promise<boolean> {
  try {
    await records.commit(writes);
    return true;
  } catch (error) {
    if (error instanceof ConditionFailedError) return false;
    throw error;
  }
}
