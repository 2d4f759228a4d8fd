import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { WaitstateError } from '../../core/errors.ts';
import { isBusy } from './errors.ts';
import { makeFolder } from './folders.ts';

const SCHEMA_VERSION = 1;

// The body is last: a query of the columns before it never reads the overflow pages of the body. The indexes of lists
// are partial, so a record without list entries costs them nothing.
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

/** Opens the database of a folder and creates both if needed; rejects a database of a newer Waitstate. */
export async function openDatabase(folder: string, busyTimeoutMs: number): Promise<DatabaseSync> {
  await makeFolder(folder);
  for (let waitedMs = 0; ; waitedMs += 10) {
    try {
      return prepareDatabase(folder, busyTimeoutMs);
    } catch (error) {
      // SQLite does not wait for its lock while the journal mode changes, which happens when two processes create the
      // database at the same time.
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
    `The database in ${folder} has format ${version}, but this Waitstate supports formats up to ${SCHEMA_VERSION}. Update Waitstate.`,
  );
}

const readSchemaVersion = (db: DatabaseSync): number => Number(db.prepare('PRAGMA user_version').get()?.user_version);

/** Runs the work in a transaction: all or nothing, without concurrent writers. */
export function inTransaction(db: DatabaseSync, work: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    work();
    db.exec('COMMIT');
  } catch (error) {
    try {
      db.exec('ROLLBACK');
    } catch {
      // After a failure such as a full disk, SQLite has already rolled back.
    }
    throw error;
  }
}

/** Suppresses one warning: Node 22 calls SQLite experimental when it loads, which users cannot act on. */
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
