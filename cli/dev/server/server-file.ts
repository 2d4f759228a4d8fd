import { randomBytes } from 'node:crypto';
import { chmod, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { undefinedIfMissing, withStorageErrors } from '../../../lambda/storage/embedded/errors.ts';
import { makeFolder } from '../../../lambda/storage/embedded/folders.ts';
import { isLockHeld } from './is-served.ts';

/** What the file in the folder says of the server: the key is the same from start to start, the rest while it runs. */
export interface ServerFile {
  /** Whoever has it may do everything. */
  readonly key: string;
  /** Where it listened last, for the next time. */
  readonly port?: number;
  readonly url?: string;
  readonly pid?: number;
}

/** A server that runs. */
export type RunningServer = Required<ServerFile>;

/** What the server of a folder holds while it lives. */
export const lockPath = (folder: string): string => join(folder, 'server.lock');

const serverFilePath = (folder: string): string => join(folder, 'server.json');

const KEY_PATTERN = /^[\w-]{43}$/;

/** Makes a folder for its owner alone, or says in words why it cannot be. */
export async function makeServerFolder(folder: string): Promise<void> {
  await withStorageErrors(folder, () => makeFolder(folder));
  // Neither the key nor runs belong into a repository. Whoever has a file of their own there knows better.
  await writeFile(join(folder, '.gitignore'), '*\n', { flag: 'wx' }).catch(() => {});
}

/** The file of a folder, with a new key where there is none, or where others could have read it. */
export async function loadServerFile(folder: string): Promise<ServerFile> {
  await makeServerFolder(folder);
  const { key, port } = (await readServerFile(folder)) ?? { key: randomBytes(32).toString('base64url') };
  return { key, ...(port !== undefined && { port }) };
}

/** Writes the file for its owner alone, all at once. */
export async function writeServerFile(folder: string, content: ServerFile): Promise<void> {
  const file = serverFilePath(folder);
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify(content, undefined, 2)}\n`, { mode: 0o600 });
  // The mode is only for a file that is made.
  await chmod(draft, 0o600);
  await rename(draft, file);
}

/** The server that works on a folder, if one does; for programs that want to talk to it. */
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
