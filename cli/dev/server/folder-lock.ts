import { WaitstateError } from '../../../lambda/core/errors.ts';
import { isBusy, storageError } from '../../../lambda/storage/embedded/errors.ts';
import { findRunningServer, lockPath } from './server-file.ts';

/** The lock that makes this process the only server of a folder. */
export interface FolderLock {
  release(): void;
}

/**
 * Makes this process the server of a folder, or throws an error that names the running one. The lock is a SQLite lock, so
 * the operating system releases it however the process ends.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  let db: InstanceType<typeof DatabaseSync> | undefined;
  try {
    db = new DatabaseSync(lockPath(folder));
    // A process that only checks whether a server runs holds the lock for a moment.
    db.exec('PRAGMA busy_timeout = 300; BEGIN EXCLUSIVE');
  } catch (error) {
    db?.close();
    throw isBusy(error) ? await folderInUse(folder) : storageError(error, folder);
  }
  const held = db;
  return { release: () => held.close() };
}

async function folderInUse(folder: string): Promise<WaitstateError> {
  const running = await findRunningServer(folder);
  const where = running ? ` at ${running.url} (pid ${running.pid})` : '';
  return new WaitstateError(
    'CONDITION_FAILED',
    `Another server is already running on the folder ${folder}${where}. Use it, stop it, or choose another folder with --folder.`,
  );
}
