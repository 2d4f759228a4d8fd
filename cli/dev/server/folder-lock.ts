import { WaitstateError } from '../../../lambda/core/errors.ts';
import { isBusy, storageError } from '../../../lambda/storage/embedded/errors.ts';
import { findRunningServer, lockPath } from './server-file.ts';

/** That this process alone is the server of a folder. */
export interface FolderLock {
  release(): void;
}

/**
 * Makes this process the server of a folder, or refuses and says which one is. The lock is SQLite's, so that the system
 * itself takes it from a process that dies, in whatever way.
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  let db: InstanceType<typeof DatabaseSync> | undefined;
  try {
    db = new DatabaseSync(lockPath(folder));
    // Who only asks whether there is a server is done in no time.
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
  const where = running ? `: ${running.url} (pid ${running.pid})` : '';
  return new WaitstateError(
    'CONDITION_FAILED',
    `Another server works on the folder ${folder} already${where}. Use that one, stop it, or name another folder by --folder.`,
  );
}
