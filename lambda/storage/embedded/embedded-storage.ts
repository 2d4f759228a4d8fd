import type { Storage } from '../ports.ts';
import { filePayloadStore } from './file-payloads.ts';
import { sqliteRecordStore } from './sqlite-records.ts';

export interface EmbeddedStorageOptions {
  /** Made on first use; several processes may share it. It must be on a local disk. */
  readonly folder: string;
  /** The time at which payloads are written. @default Date.now */
  readonly clock?: () => number;
}

/** A storage in one folder of this machine: records in SQLite, payloads as files beside it. */
export function embeddedStorage({ folder, clock = Date.now }: EmbeddedStorageOptions): Storage {
  return { records: sqliteRecordStore({ folder }), payloads: filePayloadStore({ folder, clock }) };
}
