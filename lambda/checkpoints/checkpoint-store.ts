import { hostname } from 'node:os';
import { type ErrorCode, isHoldpointError } from '../core/errors.ts';
import { escapeId, partitionOf } from '../core/ids.ts';
import { refused } from '../core/input.ts';
import type { Storage } from '../storage/ports.ts';
import { cacheOf } from './cache.ts';
import type { Checkpoint, CheckpointSummary, RunSummary } from './checkpoint.ts';
import type { CollectResult } from './collect.ts';
import { checkpointOf } from './content.ts';
import type { Context, RunContext } from './context.ts';
import type { EveryTenant, SweepResult } from './deletion.ts';
import type { Difference } from './difference.ts';
import type { TypeCodecs } from './document/document.ts';
import type { Edit } from './draft.ts';
import type { HistoryOptions, RunFilter } from './history.ts';
import type { KeyRing } from './keys.ts';
import { type Opened, open, type Which } from './open.ts';
import type { PruneOptions, PruneResult } from './prune.ts';
import { checkRetention, isText, type SaveFields, type SaveInput, save } from './save.ts';
import { ladderOf, type Schema } from './schema.ts';
import type { ForkOptions } from './travel.ts';
import type { UpdateFields } from './update.ts';
import type { Verification } from './verify.ts';

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

/** Saves and loads the checkpoints of one tenant's runs. */
export interface CheckpointStore<State = unknown> {
  readonly tenant: string;
  /** Writes the next checkpoint, in one conditional write. Throws StaleVersionError when somebody else wrote first. */
  save(input: SaveInput<State>): Promise<Checkpoint<State>>;
  /** The newest checkpoint, or the one that is named. Throws when there is none. */
  load(run: string, which?: Which): Promise<Checkpoint<State>>;
  /** The same, or undefined when there is no such run or checkpoint, or no longer. */
  find(run: string, which?: Which): Promise<Checkpoint<State> | undefined>;
  /** Saves what the edit makes of the newest state; when somebody else was faster, the edit runs again on theirs. */
  update(run: string, edit: Edit<State>, fields?: UpdateFields<State>): Promise<Checkpoint<State>>;
  /** The checkpoints of a run without their states. */
  history(run: string, options?: HistoryOptions): AsyncIterable<CheckpointSummary>;
  /** What is known of a run without opening it. */
  describe(run: string): Promise<RunSummary>;
  /** The runs that fit, last touched first. The list may be a moment behind. */
  runs(filter?: RunFilter): AsyncIterable<RunSummary>;
  /** What changed in the state from one checkpoint to another. */
  diff(run: string, before: Which, after: Which): Promise<Difference>;
  /** Begins a new run with the content of a checkpoint; both go on by themselves. */
  fork(run: string, options?: ForkOptions<State>): Promise<Checkpoint<State>>;
  /** Appends the content of an earlier checkpoint; history stays. */
  rewind(run: string, to: Which, options?: Pick<SaveFields, 'status'>): Promise<Checkpoint<State>>;
  /** Appends what was there before the last change; redo takes that back. */
  undo(run: string): Promise<Checkpoint<State>>;
  redo(run: string): Promise<Checkpoint<State>>;
  /** Reads a whole run and says what of it is damaged, if anything. */
  verify(run: string): Promise<Verification>;
  /** Empties old checkpoints; their place in history stays. */
  prune(run: string, options: PruneOptions): Promise<PruneResult>;
  /** Removes a run for good; a late writer cannot bring it back. */
  delete(run: string): Promise<void>;
  /** Wraps the run's key by the current key. */
  rotateKey(run: string): Promise<void>;
  /** Destroys the run's key, so that nobody can read it again. */
  shred(run: string): Promise<void>;
  /** Removes runs whose retention is over, and the last traces of deleted ones. Call it from time to time. */
  sweep(options?: EveryTenant): Promise<SweepResult>;
  /** Removes payloads that crashes left behind. Call it once in a while. */
  collect(options?: EveryTenant): Promise<CollectResult>;
  /** Lets go of files and connections that the store opened itself. */
  close(): Promise<void>;
}

/** A checkpoint store on this storage; a function is called when it is first needed. */
export function checkpointStoreOn<State = unknown>(
  storage: Storage | (() => Promise<Storage>),
  options: CheckpointStoreOptions = {},
): CheckpointStore<State> {
  const tenant = options.tenant ?? 'default';
  escapeId('tenant', tenant);
  if (options.writer !== undefined && !isText(options.writer, 256))
    throw refused('`writer`', 'text of 1 to 256 characters', options.writer);
  const shared = {
    tenant,
    now: options.clock ?? Date.now,
    writer: options.writer ?? `${hostname()}/${process.pid}`,
    types: options.types ?? {},
    ladder: options.schema && ladderOf(options.schema),
    keys: options.keys,
    acceptUnencrypted: options.acceptUnencrypted ?? false,
    retentionMs: options.retentionSeconds === undefined ? undefined : checkRetention(options.retentionSeconds) * 1000,
    cache: cacheOf(options.runsInMemory ?? 32),
  };
  let opened: Promise<Storage> | undefined;
  const context = async (): Promise<Context> => {
    opened ??= typeof storage === 'function' ? storage() : Promise.resolve(storage);
    try {
      return { ...shared, ...(await opened) };
    } catch (error) {
      // The next call tries again.
      opened = undefined;
      throw error;
    }
  };
  const inRun = async (run: string): Promise<RunContext> => {
    const partition = partitionOf(tenant, run);
    return { ...(await context()), run, partition };
  };
  const checkpoint = (at: RunContext, opened: Opened): Checkpoint<State> => checkpointOf<State>(at, opened);
  const load = async (run: string, which?: Which) => {
    const at = await inRun(run);
    const opened = await open(at, which);
    if (which === undefined) at.cache.keep(at.partition, opened);
    return checkpoint(at, opened);
  };

  return {
    tenant,
    load,
    async save(input) {
      const { run, ...fields } = Object(input) as SaveInput<State>;
      const at = await inRun(run);
      return checkpoint(at, await save(at, fields));
    },
    async find(run, which) {
      try {
        return await load(run, which);
      } catch (error) {
        if (isHoldpointError(error) && NOT_THERE.has(error.code)) return undefined;
        throw error;
      }
    },
    async update(run, edit, fields = {}) {
      const at = await inRun(run);
      const { update } = await import('./update.ts');
      return checkpoint(at, await update(at, edit, fields));
    },
    async *history(run, historyOptions = {}) {
      yield* (await operations()).history(await inRun(run), historyOptions);
    },
    async describe(run) {
      return (await operations()).runSummary(await inRun(run));
    },
    async *runs(filter = {}) {
      yield* (await operations()).runs(await context(), filter);
    },
    async diff(run, before, after) {
      return (await operations()).difference(await inRun(run), before, after);
    },
    async fork(run, forkOptions = {}) {
      const { fork, forkId } = await operations();
      const to = await inRun(forkOptions.id ?? forkId(run));
      return checkpoint(to, await fork<State>(await inRun(run), to, forkOptions));
    },
    async rewind(run, to, rewindOptions = {}) {
      const at = await inRun(run);
      return checkpoint(at, await (await operations()).rewind(at, to, rewindOptions));
    },
    async undo(run) {
      const at = await inRun(run);
      return checkpoint(at, await (await operations()).undo(at));
    },
    async redo(run) {
      const at = await inRun(run);
      return checkpoint(at, await (await operations()).redo(at));
    },
    async verify(run) {
      return (await operations()).verify(await inRun(run));
    },
    async prune(run, pruneOptions) {
      return (await operations()).prune(await inRun(run), pruneOptions);
    },
    async delete(run) {
      await (await operations()).deleteRun(await inRun(run));
    },
    async rotateKey(run) {
      await (await operations()).rotateKey(await inRun(run));
    },
    async shred(run) {
      await (await operations()).shred(await inRun(run));
    },
    async sweep(sweepOptions = {}) {
      return (await operations()).sweep(await context(), sweepOptions);
    },
    async collect(collectOptions = {}) {
      return (await operations()).collect(await context(), collectOptions);
    },
    async close() {
      const used = await opened;
      await Promise.all([used?.records.close(), used?.payloads.close()]);
    },
  };
}

// What an agent does not do at each step is loaded when it is first used, to keep cold starts short.
const operations = () => import('./operations.ts');

const NOT_THERE: ReadonlySet<ErrorCode> = new Set([
  'RUN_NOT_FOUND',
  'RUN_DELETED',
  'RUN_EXPIRED',
  'CHECKPOINT_NOT_FOUND',
  'CHECKPOINT_PRUNED',
]);
