import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isAlreadyThere, isMissing, isNotEmpty, undefinedIfMissing } from './errors.ts';
import { makeFolder, syncFolder } from './folders.ts';

const NAME_FILE = 'partition.txt';
const TEMP_SUFFIX = '.tmp';
const TEMP_MAX_AGE_MS = 24 * 60 * 60 * 1000;
const LOCK_FILE = 'removing.lock';
const LOCK_MAX_AGE_MS = 10_000;
const HASH_DIGITS = 40;
const MAX_ATTEMPTS = 100;

/** The folder name of a partition: of fixed length, and distinct on file systems that ignore case. */
export const folderName = (partition: string): string =>
  createHash('sha256').update(partition).digest('hex').slice(0, HASH_DIGITS);

/** The partition of a folder, or undefined while its name file does not exist. */
export const readPartitionName = (folder: string): Promise<string | undefined> =>
  undefinedIfMissing(readFile(join(folder, NAME_FILE), 'utf8'));

/**
 * Opens a new temporary file in the folder, which is created if needed. While the file exists, no process removes the
 * folder or its name file:
 *
 *   writer   creates its file,  waits while the lock exists,    writes the name file if it is missing
 *   remover  creates the lock,  stops if there is any file,     else removes name file, lock and folder
 */
export async function openTemp(folder: string): Promise<{ readonly file: FileHandle; readonly path: string }> {
  const path = join(folder, `${randomUUID()}${TEMP_SUFFIX}`);
  for (let attempt = 1; ; attempt++) {
    try {
      await makeFolder(folder);
      const file = await open(path, 'wx');
      await waitForLockRelease(folder);
      return { file, path };
    } catch (error) {
      // Another process may remove the empty folder before the file is in it.
      if (!isMissing(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Writes the name file of a folder if it is missing. The caller must have an open file in the folder. */
export async function ensurePartitionName(folder: string, partition: string): Promise<void> {
  if (await undefinedIfMissing(stat(join(folder, NAME_FILE)))) return;
  const path = join(folder, `${randomUUID()}${TEMP_SUFFIX}`);
  await writeFile(path, partition, { flag: 'wx', flush: true });
  await rename(path, join(folder, NAME_FILE));
  await syncFolder(folder);
}

/** Removes the folder unless it has a payload or a temporary file. */
export async function removeIfEmpty(folder: string): Promise<void> {
  if (!(await isEmpty(folder)) || !(await acquireLock(folder))) return;
  const empty = await isEmpty(folder);
  if (empty) await rm(join(folder, NAME_FILE), { force: true });
  await rm(join(folder, LOCK_FILE), { force: true });
  try {
    if (empty) await undefinedIfMissing(rmdir(folder));
  } catch (error) {
    // A writer has created a file since, and writes the name file again.
    if (!isNotEmpty(error)) throw error;
  }
}

async function isEmpty(folder: string): Promise<boolean> {
  const names = await undefinedIfMissing(readdir(folder));
  return names?.every((name) => name === NAME_FILE || name === LOCK_FILE) ?? false;
}

/** Acquires the lock of a folder, waiting while another process holds it; false when the folder does not exist. */
async function acquireLock(folder: string): Promise<boolean> {
  for (;;) {
    await waitForLockRelease(folder);
    try {
      const file = await undefinedIfMissing(open(join(folder, LOCK_FILE), 'wx'));
      await file?.close();
      return file !== undefined;
    } catch (error) {
      if (!isAlreadyThere(error)) throw error;
    }
  }
}

/** Waits until the lock is released, which takes moments; a lock that is older belongs to a process that died. */
async function waitForLockRelease(folder: string): Promise<void> {
  const path = join(folder, LOCK_FILE);
  for (let found = await undefinedIfMissing(stat(path)); found; found = await undefinedIfMissing(stat(path))) {
    if (Math.abs(Date.now() - found.mtimeMs) > LOCK_MAX_AGE_MS) await rm(path, { force: true });
    else await setTimeout(2);
  }
}

/** Removes stale temporary files of killed writers, and returns the names of all other files. */
export async function sweepAndListFiles(folder: string): Promise<string[]> {
  const names = (await undefinedIfMissing(readdir(folder))) ?? [];
  const temps = names.filter((name) => name.endsWith(TEMP_SUFFIX));
  for (const name of temps) await removeIfStale(join(folder, name));
  const finished = names.filter((name) => !temps.includes(name));
  await removeIfEmpty(folder);
  return finished;
}

// Uses the machine's clock, which also dates temporary files.
async function removeIfStale(path: string): Promise<void> {
  const found = await undefinedIfMissing(stat(path));
  if (found && Date.now() - found.mtimeMs > TEMP_MAX_AGE_MS) await rm(path, { force: true });
}
