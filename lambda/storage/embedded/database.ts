import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { WaitstateError } from '../../core/errors.ts';
import { isBusy } from './errors.ts';
import { makeFolder } from './folders.ts';

const SCHEMA_VERSION = 1;

// The body is last, so that what reads only the columns before it never touches the pages it overflows to. Indexes of
// lists are partial: a record without places is in none of them and costs them nothing.
const SCHEMA = `
  CREATE TABLE records (
    partition TEXT NOT NULL, key TEXT NOT NULL, revision TEXT NOT NULL, meta TEXT NOT NULL,
    status_group TEXT, status_order TEXT, owner_group TEXT, owner_order TEXT, due_group TEXT, due_order TEXT,
    body BLOB
  ) STRICT;
  CREATE UNIQUE INDEX records_by_key ON records (partition, key);
  CREATE INDEX records_by_status ON records (status_group, status_order, partition, key) WHERE status_group IS NOT NULL;
  CREATE INDEX records_by_owner ON records (owner_group, owner_order, partition, key) WHERE owner_group IS NOT NULL;
  CREATE INDEX records_by_due ON records (due_group, due_order, partition, key) WHERE due_group IS NOT NULL;
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** Opens the database of a folder, and makes both when they are not there; refuses one of a newer Waitstate. */
export async function openDatabase(folder: string, busyTimeoutMs: number): Promise<DatabaseSync> {
  await makeFolder(folder);
  for (let waitedMs = 0; ; waitedMs += 10) {
    try {
      return prepareDatabase(folder, busyTimeoutMs);
    } catch (error) {
      // SQLite does not wait for its lock while a journal mode changes, as it does when two processes come first at
      // once.
      if (!isBusy(error) || waitedMs >= busyTimeoutMs) throw error;
      await setTimeout(10);
    }
  }
}

function prepareDatabase(folder: string, busyTimeoutMs: number): DatabaseSync {
  const sqlite = withoutSqliteWarning(() => process.getBuiltinModule('node:sqlite'));
  const db = new sqlite.DatabaseSync(join(folder, 'records.sqlite'));
  try {
    db.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    checkSchemaVersion(db, folder);
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA secure_delete = ON');
    if (readSchemaVersion(db) === 0) inTransaction(db, () => readSchemaVersion(db) === 0 && db.exec(SCHEMA));
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function checkSchemaVersion(db: DatabaseSync, folder: string): void {
  const version = readSchemaVersion(db);
  if (version <= SCHEMA_VERSION) return;
  throw new WaitstateError(
    'FORMAT_TOO_NEW',
    `The database in ${folder} has format ${version}, and this Waitstate knows formats up to ${SCHEMA_VERSION}; update Waitstate.`,
  );
}

const readSchemaVersion = (db: DatabaseSync): number => Number(db.prepare('PRAGMA user_version').get()?.user_version);

/** Does all of the work or none, with nobody else writing meanwhile. */
export function inTransaction(db: DatabaseSync, work: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    work();
    db.exec('COMMIT');
  } catch (error) {
    try {
      db.exec('ROLLBACK');
    } catch {
      // After a failure like a full disk SQLite has rolled back by itself, and there is nothing left to roll back.
    }
    throw error;
  }
}

/** Node 22 warns that SQLite is experimental when it is loaded; that one warning is nothing that a user can act on. */
function withoutSqliteWarning<T>(load: () => T): T {
  const emitWarning = process.emitWarning;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (rest[0] === 'ExperimentalWarning' && String(warning).startsWith('SQLite')) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  try {
    return load();
  } finally {
    process.emitWarning = emitWarning;
  }
}
