import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isNotEmpty, unlessMissing } from './errors.ts';
import { makeFolder, syncFolder } from './folders.ts';

const NAME_FILE = 'partition.txt';
const TEMP_SUFFIX = '.tmp';
const TEMP_MAX_AGE_MS = 24 * 60 * 60 * 1000;
const HASH_DIGITS = 40;

/** The name of a partition's folder: the same length for all, and no two differ by case alone. */
export const folderName = (partition: string): string =>
  createHash('sha256').update(partition).digest('hex').slice(0, HASH_DIGITS);

/** The partition that a folder is of, or undefined while it has no name. */
export const nameOf = (folder: string): Promise<string | undefined> =>
  unlessMissing(readFile(join(folder, NAME_FILE), 'utf8'));

/** A new file in the folder, which is made when missing. As long as the file is there, nobody removes the folder. */
export async function openTemp(folder: string): Promise<{ readonly file: FileHandle; readonly path: string }> {
  const path = join(folder, `${randomUUID()}${TEMP_SUFFIX}`);
  for (;;) {
    await makeFolder(folder);
    const file = await unlessMissing(open(path, 'wx'));
    // Missing when somebody removed the empty folder since.
    if (file) return { file, path };
  }
}

/** Sees to it that the folder says which partition it is of. */
export async function ensureName(folder: string, partition: string): Promise<void> {
  if (await unlessMissing(stat(join(folder, NAME_FILE)))) return;
  const temp = await openTemp(folder);
  try {
    await temp.file.writeFile(partition);
    await temp.file.sync();
  } finally {
    await temp.file.close();
  }
  await rename(temp.path, join(folder, NAME_FILE));
  await syncFolder(folder);
}

/** Removes the folder unless it holds a payload, or a file that becomes one. */
export async function removeIfEmpty(folder: string): Promise<void> {
  const names = (await unlessMissing(readdir(folder))) ?? [];
  if (names.some((name) => name !== NAME_FILE)) return;
  const partition = await nameOf(folder);
  if (partition !== undefined) await rm(join(folder, NAME_FILE), { force: true });
  try {
    await unlessMissing(rmdir(folder));
  } catch (error) {
    // Somebody began to write since, and may have looked for the name before it went.
    if (!isNotEmpty(error)) throw error;
    if (partition !== undefined) await ensureName(folder, partition);
  }
}

/** Removes what writers left behind when they were killed, and gives the names of all files that are finished. */
export async function sweep(folder: string): Promise<string[]> {
  const names = (await unlessMissing(readdir(folder))) ?? [];
  const temps = names.filter((name) => name.endsWith(TEMP_SUFFIX));
  for (const name of temps) await removeIfOld(join(folder, name));
  const finished = names.filter((name) => !temps.includes(name));
  if (finished.every((name) => name === NAME_FILE)) await removeIfEmpty(folder);
  return finished;
}

// By the clock of the machine, which is also what dates files while they are written.
async function removeIfOld(path: string): Promise<void> {
  const found = await unlessMissing(stat(path));
  if (found && Date.now() - found.mtimeMs > TEMP_MAX_AGE_MS) await rm(path, { force: true });
}
