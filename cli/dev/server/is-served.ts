import { existsSync } from 'node:fs';
import { isBusy } from '../../../lambda/storage/embedded/errors.ts';

/** Whether a server holds the lock of a folder now. A process id would not prove it: the system may have reused it. */
export function isLockHeld(lock: string): boolean {
  if (!existsSync(lock)) return false;
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const db = new DatabaseSync(lock, { readOnly: true });
  try {
    db.exec('PRAGMA busy_timeout = 0; SELECT count(*) FROM sqlite_schema');
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    db.close();
  }
}
