import { hostname } from 'node:os';
import type { Duration } from '../core/duration.ts';
import { escapeId, toPartition } from '../core/ids.ts';
import { tenantSafeLists } from '../storage/decorators/tenant-safe-lists.ts';
import type { Storage } from '../storage/ports.ts';
import { createCache } from './cache.ts';
import type { Context, RunContext } from './context.ts';
import type { TypeCodecs } from './document/document.ts';
import type { KeyRing } from './encryption/key-ring.ts';
import { checkText, toRetentionMs } from './fields/save-fields.ts';
import { createMigrator, type Schema } from './format/schema.ts';

/** The options of a checkpoint store. */
export interface CheckpointStoreOptions {
  /** The tenant of the runs; a store cannot access runs of other tenants. @default "default" */
  readonly tenant?: string;
  /** The schema of the state, with migrations from older versions. @default none: states load as they were saved */
  readonly schema?: Schema;
  /** Codecs for instances of your own classes. @default none: such instances are rejected */
  readonly types?: TypeCodecs;
  /** The key ring that encrypts state, results and payloads with one data key per run. @default no encryption */
  readonly keys?: KeyRing;
  /** Whether a store with keys also loads unencrypted runs. @default false */
  readonly acceptUnencrypted?: boolean;
  /** How long a run is kept after its last write. @default forever */
  readonly retention?: Duration;
  /** The writer's name in the history. @default host name and process id */
  readonly writer?: string;
  /** The time of this process in milliseconds; it is corrected by the clock of the storage. @default Date.now */
  readonly clock?: () => number;
  /** The number of runs to cache in memory; a step of a cached run costs one request. @default 32 */
  readonly runsInMemory?: number;
}

/** Creates the contexts for the operations of a store. */
export interface ContextFactory {
  readonly tenant: string;
  forTenant(): Promise<Context>;
  forRun(run: string): Promise<RunContext>;
  /** Closes the storage if it was opened. */
  close(): Promise<void>;
}

/** A context factory on a storage, or on one that a function provides on first use. */
export function contextFactory(
  storage: Storage | (() => Promise<Storage>),
  options: CheckpointStoreOptions,
): ContextFactory {
  const tenant = options.tenant ?? 'default';
  escapeId('tenant', tenant);
  checkText('writer', options.writer);
  const shared = {
    tenant,
    writer: options.writer ?? `${hostname()}/${process.pid}`,
    types: options.types ?? {},
    migrator: options.schema && createMigrator(options.schema),
    keys: options.keys,
    acceptUnencrypted: options.acceptUnencrypted ?? false,
    retentionMs: toRetentionMs(options.retention),
    cache: createCache(options.runsInMemory ?? 32),
  };
  const { clock = Date.now } = options;
  let storagePromise: ReturnType<typeof openStorage> | undefined;
  const openStorage = async (): Promise<Storage & Pick<Context, 'now'>> => {
    const { records, payloads } = typeof storage === 'function' ? await storage() : storage;
    const now = () => clock() - (records.clockAheadMs() ?? 0);
    return { records: tenantSafeLists(records), payloads, now };
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
