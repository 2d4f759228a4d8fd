import type { Storage } from '../ports.ts';
import { filePayloadStore } from './file-payloads.ts';
import { sqliteRecordStore } from './sqlite-records.ts';

export interface EmbeddedStorageOptions {
  /** A folder on a local disk, created on first use; several processes can share it. */
  readonly folder: string;
  /** The clock for the write time of payloads. @default Date.now */
  readonly clock?: () => number;
}

/** A storage in a local folder: records in SQLite, payloads as files. */
export function embeddedStorage({ folder, clock = Date.now }: EmbeddedStorageOptions): Storage {
  return { records: sqliteRecordStore({ folder }), payloads: filePayloadStore({ folder, clock }) };
}
