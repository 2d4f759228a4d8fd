import { type ErrorCode, WaitstateError } from '../../core/errors.ts';

type StorageCode = Extract<ErrorCode, `STORAGE_${string}` | 'DAMAGED' | 'RECORD_TOO_LARGE'>;

// https://www.sqlite.org/rescode.html: extended codes first, then the primary code in the low byte.
const SQLITE_CODES: { readonly [code: number]: StorageCode } = {
  1032: 'STORAGE_MISSING', // SQLITE_READONLY_DBMOVED: the file was moved or deleted while open
  4874: 'STORAGE_FULL', // SQLITE_IOERR_SHMSIZE: no room to grow the index of the write-ahead log
  3: 'STORAGE_DENIED', // SQLITE_PERM
  8: 'STORAGE_DENIED', // SQLITE_READONLY
  11: 'DAMAGED', // SQLITE_CORRUPT
  13: 'STORAGE_FULL', // SQLITE_FULL
  14: 'STORAGE_DENIED', // SQLITE_CANTOPEN
  18: 'RECORD_TOO_LARGE', // SQLITE_TOOBIG
  23: 'STORAGE_DENIED', // SQLITE_AUTH
  26: 'DAMAGED', // SQLITE_NOTADB
};

const FILE_CODES: { readonly [code: string]: StorageCode } = {
  ENOENT: 'STORAGE_MISSING',
  ENOSPC: 'STORAGE_FULL',
  EDQUOT: 'STORAGE_FULL',
  EACCES: 'STORAGE_DENIED',
  EPERM: 'STORAGE_DENIED',
  EROFS: 'STORAGE_DENIED',
  EEXIST: 'STORAGE_DENIED',
  ENOTDIR: 'STORAGE_DENIED',
};

const ADVICE: { readonly [C in StorageCode]: string } = {
  STORAGE_MISSING: 'was moved or deleted while in use; restart the process, or restore the folder',
  STORAGE_FULL: 'is on a disk without free space; free some and try again',
  STORAGE_DENIED: 'must be a folder that this process can write to; change its permissions or choose another folder',
  STORAGE_UNAVAILABLE: 'did not respond (another process may hold its lock, or the disk fails); try again',
  DAMAGED: 'has a database that SQLite cannot read; restore it from a backup',
  RECORD_TOO_LARGE: 'cannot store a record of this size; keep large content in a payload',
};

const SQLITE_BUSY = 5;

/** Whether SQLite gave up waiting for another process. */
export const isBusy = (error: unknown): boolean => primaryCode(sqliteCode(error)) === SQLITE_BUSY;

/** Whether removing a folder failed because it is not empty. */
export const isNotEmpty = (error: unknown): boolean => ['ENOTEMPTY', 'EEXIST'].includes(fileCode(error) ?? '');

/** Whether creating a file failed because it already exists. */
export const isAlreadyThere = (error: unknown): boolean => fileCode(error) === 'EEXIST';

/** Whether a file or folder does not exist. */
export const isMissing = (error: unknown): boolean => fileCode(error) === 'ENOENT';

/** The result of an action on a file, or undefined when the file does not exist. */
export async function undefinedIfMissing<T>(action: Promise<T>): Promise<T | undefined> {
  try {
    return await action;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Converts an error of SQLite or the file system to an error of the ports; returns any other error unchanged. */
export function storageError(error: unknown, folder: string): unknown {
  const code = storageCode(error);
  if (!code || !(error instanceof Error)) return error;
  return new WaitstateError(code, `The storage folder ${folder} ${ADVICE[code]}. Found: ${error.message}.`, {
    cause: error,
  });
}

/** Runs an action on files, and converts its errors to errors of the ports. */
export async function withStorageErrors<T>(folder: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw storageError(error, folder);
  }
}

function storageCode(error: unknown): StorageCode | undefined {
  const sqlite = sqliteCode(error);
  if (sqlite !== undefined) {
    return SQLITE_CODES[sqlite] ?? SQLITE_CODES[primaryCode(sqlite) ?? 0] ?? 'STORAGE_UNAVAILABLE';
  }
  const file = fileCode(error);
  return file === undefined ? undefined : (FILE_CODES[file] ?? 'STORAGE_UNAVAILABLE');
}

function sqliteCode(error: unknown): number | undefined {
  const known = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number';
  return known ? Number(error.errcode) : undefined;
}

const primaryCode = (code: number | undefined): number | undefined => (code === undefined ? undefined : code & 0xff);

function fileCode(error: unknown): string | undefined {
  const known = error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';
  return known ? String(error.code) : undefined;
}
