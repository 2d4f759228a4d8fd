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

/** The name of a partition's folder: the same length for all, and no two differ by case alone. */
export const folderName = (partition: string): string =>
  createHash('sha256').update(partition).digest('hex').slice(0, HASH_DIGITS);

/** The partition that a folder is of, or undefined while it has no name. */
export const readPartitionName = (folder: string): Promise<string | undefined> =>
  undefinedIfMissing(readFile(join(folder, NAME_FILE), 'utf8'));

/**
 * A new file in the folder, which is made when missing. As long as the file is there, nobody takes the folder or its
 * name:
 *
 *   writer   makes its file,  then waits while there is a lock,    then sees to the name
 *   remover  makes the lock,  then leaves if there is any file,    else removes name, lock and folder
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
      // Somebody may remove the folder, empty as it still is, while it is made or before the file is in it.
      if (!isMissing(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Sees to it that the folder says which partition it is of; for those who have a file in it. */
export async function ensurePartitionName(folder: string, partition: string): Promise<void> {
  if (await undefinedIfMissing(stat(join(folder, NAME_FILE)))) return;
  const path = join(folder, `${randomUUID()}${TEMP_SUFFIX}`);
  await writeFile(path, partition, { flag: 'wx', flush: true });
  await rename(path, join(folder, NAME_FILE));
  await syncFolder(folder);
}

/** Removes the folder unless it holds a payload, or a file that becomes one. */
export async function removeIfEmpty(folder: string): Promise<void> {
  if (!(await isEmpty(folder)) || !(await acquireLock(folder))) return;
  const empty = await isEmpty(folder);
  if (empty) await rm(join(folder, NAME_FILE), { force: true });
  await rm(join(folder, LOCK_FILE), { force: true });
  try {
    if (empty) await undefinedIfMissing(rmdir(folder));
  } catch (error) {
    // Somebody began to write since, and makes the name anew.
    if (!isNotEmpty(error)) throw error;
  }
}

async function isEmpty(folder: string): Promise<boolean> {
  const names = await undefinedIfMissing(readdir(folder));
  return names?.every((name) => name === NAME_FILE || name === LOCK_FILE) ?? false;
}

/** Makes the lock of a folder when nobody else has it; false when there is no such folder. */
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

/**
 * Waits while somebody looks whether the folder can go, which takes moments; a lock that stays is of a process that
 * died.
 */
async function waitForLockRelease(folder: string): Promise<void> {
  const path = join(folder, LOCK_FILE);
  for (let found = await undefinedIfMissing(stat(path)); found; found = await undefinedIfMissing(stat(path))) {
    if (Math.abs(Date.now() - found.mtimeMs) > LOCK_MAX_AGE_MS) await rm(path, { force: true });
    else await setTimeout(2);
  }
}

/** Removes what writers left behind when they were killed, and gives the names of all files that are finished. */
export async function sweepAndListFiles(folder: string): Promise<string[]> {
  const names = (await undefinedIfMissing(readdir(folder))) ?? [];
  const temps = names.filter((name) => name.endsWith(TEMP_SUFFIX));
  for (const name of temps) await removeIfStale(join(folder, name));
  const finished = names.filter((name) => !temps.includes(name));
  await removeIfEmpty(folder);
  return finished;
}

// By the clock of the machine, which is also what dates files while they are written.
async function removeIfStale(path: string): Promise<void> {
  const found = await undefinedIfMissing(stat(path));
  if (found && Date.now() - found.mtimeMs > TEMP_MAX_AGE_MS) await rm(path, { force: true });
}
