import { type ErrorCode, isWaitstateError } from '../core/errors.ts';
import type { Storage } from '../storage/ports.ts';
import type { Checkpoint, CheckpointSummary, RunSummary } from './checkpoint.ts';
import { toCheckpoint } from './content.ts';
import type { RunContext } from './context.ts';
import { type CheckpointStoreOptions, contextFactory } from './context-factory.ts';
import type { Edit } from './draft.ts';
import type { HistoryOptions } from './history.ts';
import { loadCheckpoint } from './load.ts';
import type { CheckpointSelector, LoadedCheckpoint } from './loaded-checkpoint.ts';
import type { CollectResult } from './operations/collect.ts';
import type { SweepResult, TenantScopeOptions } from './operations/delete.ts';
import type { Difference } from './operations/diff.ts';
import type { PruneOptions, PruneResult } from './operations/prune.ts';
import type { ForkOptions } from './operations/time-travel.ts';
import type { Verification } from './operations/verify.ts';
import type { RunFilter } from './runs.ts';
import { type SaveFields, type SaveInput, save } from './save.ts';
import type { UpdateFields } from './update.ts';

/** Saves and loads the checkpoints of one tenant's runs. */
export interface CheckpointStore<State = unknown> {
  readonly tenant: string;
  /** Writes the next checkpoint, in one conditional write. Throws StaleVersionError when somebody else wrote first. */
  save(input: SaveInput<State>): Promise<Checkpoint<State>>;
  /** The newest checkpoint, or the one that is named. Throws when there is none. */
  load(run: string, selector?: CheckpointSelector): Promise<Checkpoint<State>>;
  /** The same, or undefined when there is no such run or checkpoint, or no longer. */
  find(run: string, selector?: CheckpointSelector): Promise<Checkpoint<State> | undefined>;
  /** Saves what the edit makes of the newest state; when somebody else was faster, the edit runs again on theirs. */
  update(run: string, edit: Edit<State>, fields?: UpdateFields<State>): Promise<Checkpoint<State>>;
  /** The checkpoints of a run without their states. */
  history(run: string, options?: HistoryOptions): AsyncIterable<CheckpointSummary>;
  /** What is known of a run without opening it. */
  describe(run: string): Promise<RunSummary>;
  /** The runs that fit, last touched first. The list may be a moment behind. */
  runs(filter?: RunFilter): AsyncIterable<RunSummary>;
  /** What changed in the state from one checkpoint to another. */
  diff(run: string, before: CheckpointSelector, after: CheckpointSelector): Promise<Difference>;
  /** Begins a new run with the content of a checkpoint; both go on by themselves. */
  fork(run: string, options?: ForkOptions<State>): Promise<Checkpoint<State>>;
  /** Appends the content of an earlier checkpoint; history stays. */
  rewind(run: string, to: CheckpointSelector, options?: Pick<SaveFields, 'status'>): Promise<Checkpoint<State>>;
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
  sweep(options?: TenantScopeOptions): Promise<SweepResult>;
  /** Removes payloads that crashes left behind. Call it once in a while. */
  collect(options?: TenantScopeOptions): Promise<CollectResult>;
  /** Lets go of files and connections that the store opened itself. */
  close(): Promise<void>;
}

/** A checkpoint store on this storage; a function is called when it is first needed. */
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

// What an agent does not do at each step is loaded when it is first used, to keep cold starts short.
const importOperations = () => import('./operations/operations.ts');
type Operations = Awaited<ReturnType<typeof importOperations>>;

const NOT_FOUND_CODES: ReadonlySet<ErrorCode> = new Set([
  'RUN_NOT_FOUND',
  'RUN_DELETED',
  'RUN_EXPIRED',
  'CHECKPOINT_NOT_FOUND',
  'CHECKPOINT_PRUNED',
]);
