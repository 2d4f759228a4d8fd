import { hostname } from 'node:os';
import { escapeId, toPartition } from '../core/ids.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { tenantSafeLists } from '../storage/decorators/tenant-safe-lists.ts';
import type { Storage } from '../storage/ports.ts';
import { createCache } from './cache.ts';
import type { Context, RunContext } from './context.ts';
import type { TypeCodecs } from './document/document.ts';
import type { KeyRing } from './encryption/key-ring.ts';
import { createMigrator, type Schema } from './format/schema.ts';
import { checkRetention, isText } from './save.ts';

/** How a store reads and writes states, and for whom. */
export interface CheckpointStoreOptions {
  /** Whose runs these are; a store cannot name another tenant's. @default "default" */
  readonly tenant?: string;
  /** The shape of the state, and migrations from older ones. @default no schema: states come as they were saved */
  readonly schema?: Schema;
  /** Codecs for instances of your own classes. @default none: such instances are refused */
  readonly types?: TypeCodecs;
  /** Encrypts state, results and payloads under a key per run. @default no encryption */
  readonly keys?: KeyRing;
  /** Whether a store with keys also opens runs that were written without. @default false */
  readonly acceptUnencrypted?: boolean;
  /** How long a run is kept after its last write. @default for ever */
  readonly retentionSeconds?: number;
  /** Who writes, as history shows it. @default the machine and the process */
  readonly writer?: string;
  /** The time in milliseconds. @default Date.now */
  readonly clock?: () => number;
  /** How many runs stay in memory, so that a step costs one request. @default 32 */
  readonly runsInMemory?: number;
}

/** What stands behind a store: the contexts of its operations. */
export interface ContextFactory {
  readonly tenant: string;
  forTenant(): Promise<Context>;
  forRun(run: string): Promise<RunContext>;
  /** Lets go of the storage, if it was ever opened. */
  close(): Promise<void>;
}

/** The contexts of operations on this storage; a function is called when it is first needed. */
export function contextFactory(
  storage: Storage | (() => Promise<Storage>),
  options: CheckpointStoreOptions,
): ContextFactory {
  const tenant = options.tenant ?? 'default';
  escapeId('tenant', tenant);
  if (options.writer !== undefined && !isText(options.writer, 256))
    throw invalidInput('`writer`', 'text of 1 to 256 characters', options.writer);
  const shared = {
    tenant,
    now: options.clock ?? Date.now,
    writer: options.writer ?? `${hostname()}/${process.pid}`,
    types: options.types ?? {},
    migrator: options.schema && createMigrator(options.schema),
    keys: options.keys,
    acceptUnencrypted: options.acceptUnencrypted ?? false,
    retentionMs: options.retentionSeconds === undefined ? undefined : checkRetention(options.retentionSeconds) * 1000,
    cache: createCache(options.runsInMemory ?? 32),
  };
  let storagePromise: Promise<Storage> | undefined;
  const openStorage = async (): Promise<Storage> => {
    const { records, payloads } = typeof storage === 'function' ? await storage() : storage;
    return { records: tenantSafeLists(records), payloads };
  };
  const forTenant = async (): Promise<Context> => {
    storagePromise ??= openStorage();
    try {
      return { ...shared, ...(await storagePromise) };
    } catch (error) {
      // The next call tries again.
      storagePromise = undefined;
      throw error;
    }
  };
  return {
    tenant,
    forTenant,
    async forRun(run) {
      const partition = toPartition(tenant, run);
      return { ...(await forTenant()), run, partition };
    },
    async close() {
      const opened = await storagePromise;
      await Promise.all([opened?.records.close(), opened?.payloads.close()]);
    },
  };
}
