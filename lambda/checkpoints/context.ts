import type { PayloadStore, RecordStore } from '../storage/ports.ts';
import type { Cache } from './cache.ts';
import type { TypeCodecs } from './document/document.ts';
import type { KeyRing } from './encryption/key-ring.ts';
import type { SchemaMigrator } from './format/schema.ts';

/** What all operations of a store share. */
export interface Context {
  readonly records: RecordStore;
  readonly payloads: PayloadStore;
  readonly tenant: string;
  /** The time by the clock of the storage, which all processes share. */
  readonly now: () => number;
  readonly writer: string;
  readonly types: TypeCodecs;
  readonly migrator: SchemaMigrator | undefined;
  readonly keys: KeyRing | undefined;
  readonly acceptUnencrypted: boolean;
  readonly retentionMs: number | undefined;
  readonly cache: Cache;
}

/** The context of an operation on one run. */
export interface RunContext extends Context {
  readonly run: string;
  readonly partition: string;
}
