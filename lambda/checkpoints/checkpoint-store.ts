import { type ErrorCode, isWaitstateError } from '../core/errors.ts';
import type { Storage } from '../storage/ports.ts';
import type { Checkpoint, CheckpointSummary, RunSummary } from './checkpoint.ts';
import { toCheckpoint } from './content.ts';
import type { RunContext } from './context.ts';
import { type CheckpointStoreOptions, contextFactory } from './context-factory.ts';
import type { Edit } from './draft.ts';
import type { SaveFields } from './fields/save-fields.ts';
import type { HistoryOptions } from './lists/history.ts';
import type { RunFilter } from './lists/runs.ts';
import { loadCheckpoint } from './load.ts';
import type { CheckpointSelector, LoadedCheckpoint } from './loaded-checkpoint.ts';
import type { CollectResult } from './operations/collect.ts';
import type { SweepResult, TenantScopeOptions } from './operations/delete.ts';
import type { Difference } from './operations/diff.ts';
import type { PruneOptions, PruneResult } from './operations/prune.ts';
import type { ForkOptions } from './operations/time-travel.ts';
import type { Verification } from './operations/verify.ts';
import { type SaveInput, save } from './save.ts';
import type { UpdateFields } from './update.ts';

/** Saves, loads and manages the checkpoints of one tenant's runs. */
export interface CheckpointStore<State = unknown> {
  readonly tenant: string;
  /** Writes the next checkpoint in one conditional write. Throws StaleVersionError when another writer was first. */
  save(input: SaveInput<State>): Promise<Checkpoint<State>>;
  /** Loads the newest checkpoint, or the selected one. Throws when it does not exist. */
  load(run: string, selector?: CheckpointSelector): Promise<Checkpoint<State>>;
  /** Like `load`, but returns undefined when the run or checkpoint does not exist or no longer exists. */
  find(run: string, selector?: CheckpointSelector): Promise<Checkpoint<State> | undefined>;
  /** Edits the newest state and saves it; on a conflict, the edit runs again on the new state. */
  update(run: string, edit: Edit<State>, fields?: UpdateFields<State>): Promise<Checkpoint<State>>;
  /** Lists the checkpoints of a run without their states. */
  history(run: string, options?: HistoryOptions): AsyncIterable<CheckpointSummary>;
  /** Describes a run without loading its state. */
  describe(run: string): Promise<RunSummary>;
  /** Lists the matching runs, most recently written first. The list is eventually consistent. */
  runs(filter?: RunFilter): AsyncIterable<RunSummary>;
  /** Compares the states of two checkpoints. */
  diff(run: string, before: CheckpointSelector, after: CheckpointSelector): Promise<Difference>;
  /** Starts a new run with the content of a checkpoint; both runs continue independently. */
  fork(run: string, options?: ForkOptions<State>): Promise<Checkpoint<State>>;
  /** Appends the content of an earlier checkpoint; the history stays. */
  rewind(run: string, to: CheckpointSelector, options?: Pick<SaveFields, 'status'>): Promise<Checkpoint<State>>;
  /** Appends the content from before the last change; `redo` reverses it. */
  undo(run: string): Promise<Checkpoint<State>>;
  redo(run: string): Promise<Checkpoint<State>>;
  /** Reads a whole run and reports any damage. */
  verify(run: string): Promise<Verification>;
  /** Empties old checkpoints; their entries in the history stay. */
  prune(run: string, options: PruneOptions): Promise<PruneResult>;
  /** Deletes a run permanently; a late writer cannot bring it back. */
  delete(run: string): Promise<void>;
  /** Wraps the run's data key with the current key. */
  rotateKey(run: string): Promise<void>;
  /** Destroys the run's data key, so that nobody can read the run again. */
  shred(run: string): Promise<void>;
  /** Removes expired runs and the remaining records of deleted ones. Call it regularly. */
  sweep(options?: TenantScopeOptions): Promise<SweepResult>;
  /** Removes orphaned payloads of crashed writers. Call it occasionally. */
  collect(options?: TenantScopeOptions): Promise<CollectResult>;
  /** Closes the files and connections that the store opened itself. */
  close(): Promise<void>;
}

/** A checkpoint store on a storage, or on one that a function provides on first use. */
export function createCheckpointStore<State = unknown>(
  storage: Storage | (() => Promise<Storage>),
  options: CheckpointStoreOptions = {},
): CheckpointStore<State> {
  const { tenant, forTenant, forRun, close } = contextFactory(storage, options);
  const checkpoint = toCheckpoint<State>;
  const load = async (run: string, selector?: CheckpointSelector) => {
    const at = await forRun(run);
    const loaded = await loadCheckpoint(at, selector);
    if (selector === undefined) at.cache.remember(at.partition, loaded);
    return checkpoint(at, loaded);
  };
  const runOperation = async <T>(
    run: string,
    operation: (operations: Operations, at: RunContext) => Promise<T>,
  ): Promise<T> => operation(await importOperations(), await forRun(run));
  const runTimeTravel = (
    run: string,
    operation: (operations: Operations, at: RunContext) => Promise<LoadedCheckpoint>,
  ) => runOperation(run, async (operations, at) => checkpoint(at, await operation(operations, at)));

  return {
    tenant,
    load,
    async save(input) {
      const { run, ...fields } = Object(input) as SaveInput<State>;
      const at = await forRun(run);
      return checkpoint(at, await save(at, fields));
    },
    async find(run, selector) {
      try {
        return await load(run, selector);
      } catch (error) {
        if (isWaitstateError(error) && NOT_FOUND_CODES.has(error.code)) return undefined;
        throw error;
      }
    },
    async update(run, edit, fields = {}) {
      const at = await forRun(run);
      const { update } = await import('./update.ts');
      return checkpoint(at, await update(at, edit, fields));
    },
    async *history(run, historyOptions = {}) {
      yield* (await importOperations()).history(await forRun(run), historyOptions);
    },
    describe: (run) => runOperation(run, ({ readRunSummary }, at) => readRunSummary(at)),
    async *runs(filter = {}) {
      yield* (await importOperations()).listRuns(await forTenant(), filter);
    },
    diff: (run, before, after) => runOperation(run, ({ diffCheckpoints }, at) => diffCheckpoints(at, before, after)),
    async fork(run, forkOptions = {}) {
      const { fork, forkId } = await importOperations();
      const to = await forRun(forkOptions.id ?? forkId(run));
      return checkpoint(to, await fork<State>(await forRun(run), to, forkOptions));
    },
    rewind: (run, to, rewindOptions = {}) => runTimeTravel(run, ({ rewind }, at) => rewind(at, to, rewindOptions)),
    undo: (run) => runTimeTravel(run, ({ undo }, at) => undo(at)),
    redo: (run) => runTimeTravel(run, ({ redo }, at) => redo(at)),
    verify: (run) => runOperation(run, ({ verify }, at) => verify(at)),
    prune: (run, pruneOptions) => runOperation(run, ({ prune }, at) => prune(at, pruneOptions)),
    delete: (run) => runOperation(run, ({ deleteRun }, at) => deleteRun(at)),
    rotateKey: (run) => runOperation(run, ({ rotateKey }, at) => rotateKey(at)),
    shred: (run) => runOperation(run, ({ shred }, at) => shred(at)),
    async sweep(sweepOptions = {}) {
      return (await importOperations()).sweep(await forTenant(), sweepOptions);
    },
    async collect(collectOptions = {}) {
      return (await importOperations()).collect(await forTenant(), collectOptions);
    },
    close,
  };
}

// Operations that agents do not run at every step are loaded on first use, which keeps cold starts short.
const importOperations = () => import('./operations/operations.ts');
type Operations = Awaited<ReturnType<typeof importOperations>>;

const NOT_FOUND_CODES: ReadonlySet<ErrorCode> = new Set([
  'RUN_NOT_FOUND',
  'RUN_DELETED',
  'RUN_EXPIRED',
  'CHECKPOINT_NOT_FOUND',
  'CHECKPOINT_PRUNED',
]);
