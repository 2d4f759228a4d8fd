import { resolve } from 'node:path';
import { WaitstateError } from '../../core/errors.ts';
import { takePage } from '../paging.ts';
import type { RecordStore } from '../ports.ts';
import { openDatabase } from './database.ts';
import { storageError } from './errors.ts';
import { type RecordTable, recordTable } from './record-table.ts';

// Measured: up to this size a record takes less than a third of the time of a payload. Larger records would inflate the
// database file, which never shrinks.
const INLINE_BYTES = 64 * 1024;
const BUSY_TIMEOUT_MS = 5000;

/** A record store in a SQLite database, which the first call opens or creates; several processes can share it. */
export function sqliteRecordStore(options: { readonly folder: string; readonly busyTimeoutMs?: number }): RecordStore {
  const folder = resolve(options.folder);
  let tablePromise: Promise<RecordTable> | undefined;
  let openTable: RecordTable | undefined;
  let closed = false;

  async function connect(): Promise<RecordTable> {
    tablePromise ??= openDatabase(folder, options.busyTimeoutMs ?? BUSY_TIMEOUT_MS).then(recordTable);
    try {
      return await tablePromise;
    } catch (error) {
      tablePromise = undefined;
      throw error;
    }
  }

  async function withTable<T>(work: (table: RecordTable) => T): Promise<T> {
    try {
      if (!closed) openTable ??= await connect();
      if (closed || !openTable) throw closedError(folder);
      return work(openTable);
    } catch (error) {
      throw storageError(error, folder);
    }
  }

  return {
    maxInlineBytes: INLINE_BYTES,
    compressesSmallBodies: false,
    clockAheadMs: () => 0,
    read: (partition, keys) => withTable((table) => table.read(partition, keys)),
    range: (partition, page = {}) => withTable((table) => takePage(table.range(partition, page), page.limit)),
    list: (list, group, page = {}) => withTable((table) => takePage(table.list(list, group, page), page.limit)),
    commit: (writes) => withTable((table) => table.commit(writes)),
    async close() {
      if (closed) return;
      closed = true;
      const table = await tablePromise?.catch(() => undefined);
      table?.close();
    },
  };
}

const closedError = (folder: string): WaitstateError =>
  new WaitstateError('STORAGE_UNAVAILABLE', `The storage in ${folder} is closed. Create a new one.`);
