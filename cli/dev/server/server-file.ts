import { randomBytes } from 'node:crypto';
import { chmod, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { undefinedIfMissing, withStorageErrors } from '../../../lambda/storage/embedded/errors.ts';
import { makeFolder } from '../../../lambda/storage/embedded/folders.ts';
import { isLockHeld } from './is-served.ts';

/** The content of `server.json`: the key stays the same between starts; URL and process id apply while the server runs. */
export interface ServerFile {
  /** Gives full access to the server. */
  readonly key: string;
  /** The port of the last start, which the next start tries first. */
  readonly port?: number;
  readonly url?: string;
  readonly pid?: number;
}

/** A running server. */
export type RunningServer = Required<ServerFile>;

/** The lock file that the server of a folder holds while it runs. */
export const lockPath = (folder: string): string => join(folder, 'server.lock');

const serverFilePath = (folder: string): string => join(folder, 'server.json');

const KEY_PATTERN = /^[\w-]{43}$/;

/** Creates a folder that only its owner can read, or throws an error that says why it cannot. */
export async function makeServerFolder(folder: string): Promise<void> {
  await withStorageErrors(folder, () => makeFolder(folder));
  // The key and the runs do not belong in a repository. An existing .gitignore is kept.
  await writeFile(join(folder, '.gitignore'), '*\n', { flag: 'wx' }).catch(() => {});
}

/** Loads the server file, with a new key if there is no valid one or if other users could have read it. */
export async function loadServerFile(folder: string): Promise<ServerFile> {
  await makeServerFolder(folder);
  const { key, port } = (await readServerFile(folder)) ?? { key: randomBytes(32).toString('base64url') };
  return { key, ...(port !== undefined && { port }) };
}

/** Writes the server file atomically, readable by its owner only. */
export async function writeServerFile(folder: string, content: ServerFile): Promise<void> {
  const file = serverFilePath(folder);
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
  // writeFile applies the mode only to a new file.
  await chmod(draft, 0o600);
  await rename(draft, file);
}

/** Finds the server that is running on a folder, if there is one. */
export async function findRunningServer(folder: string): Promise<RunningServer | undefined> {
  const { key, port, url, pid } = (await readServerFile(folder)) ?? {};
  if (key === undefined || port === undefined || url === undefined || pid === undefined) return undefined;
  return isLockHeld(lockPath(folder)) ? { key, port, url, pid } : undefined;
}

async function readServerFile(folder: string): Promise<ServerFile | undefined> {
  const file = serverFilePath(folder);
  const mode = (await undefinedIfMissing(stat(file)))?.mode ?? 0;
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) return undefined;
  const text = await undefinedIfMissing(readFile(file, 'utf8'));
  try {
    const content = Object(JSON.parse(text ?? 'null')) as Partial<ServerFile>;
    return content.key !== undefined && KEY_PATTERN.test(content.key) ? { ...content, key: content.key } : undefined;
  } catch {
    return undefined;
  }
}
