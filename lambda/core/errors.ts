/** How far a failure reaches: one step, this invocation of the process, or the whole run. */
export type ErrorScope = 'step' | 'invocation' | 'run';

/** The base of every error that Holdpoint throws; `code` is stable and survives minification and duplicate bundles. */
export class HoldpointError extends Error {
  override readonly name: string = 'HoldpointError';
  readonly code: ErrorCode;
  readonly scope: ErrorScope;

  constructor(code: ErrorCode, message: string, options: { scope?: ErrorScope; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.scope = options.scope ?? 'invocation';
  }
}

/** Whether something is an error of Holdpoint with this code, whichever copy of the package threw it. */
export function isHoldpointError(error: unknown, code?: ErrorCode): error is HoldpointError {
  return (
    error instanceof Error &&
    'code' in error &&
    'scope' in error &&
    (code ? error.code === code : typeof error.code === 'string')
  );
}

/** What went wrong, for programs. */
export type ErrorCode =
  /** An argument is not what the call takes. */
  | 'INVALID_INPUT'
  /** A value cannot be kept in a checkpoint. */
  | 'UNSUPPORTED_VALUE'
  /** Somebody else wrote first; load and try again. */
  | 'STALE_VERSION'
  /** No such run. */
  | 'RUN_NOT_FOUND'
  /** The id is taken. */
  | 'RUN_EXISTS'
  /** The run was deleted, and its id is refused for a while. */
  | 'RUN_DELETED'
  /** The run was not written to for longer than its retention. */
  | 'RUN_EXPIRED'
  /** The run has no such checkpoint. */
  | 'CHECKPOINT_NOT_FOUND'
  /** The checkpoint was emptied by a prune. */
  | 'CHECKPOINT_PRUNED'
  /** Another checkpoint of the run has the name. */
  | 'NAME_TAKEN'
  /** A run in this status cannot go to that one. */
  | 'TRANSITION_REFUSED'
  /** There is no earlier change to go back to. */
  | 'NOTHING_TO_UNDO'
  /** Nothing was undone since the last change. */
  | 'NOTHING_TO_REDO'
  /** What is stored is not what was written. */
  | 'DAMAGED'
  /** A newer Holdpoint wrote this. */
  | 'FORMAT_TOO_NEW'
  /** The ladder of migrations has a missing step. */
  | 'SCHEMA_INVALID'
  /** Newer code than this wrote the state. */
  | 'SCHEMA_TOO_NEW'
  /** A migration threw. */
  | 'MIGRATION_FAILED'
  /** The key that opens the run is not at hand. */
  | 'KEY_UNAVAILABLE'
  /** A store with keys found a run without encryption. */
  | 'RUN_NOT_ENCRYPTED'
  /** The key of the run was destroyed. */
  | 'RUN_SHREDDED'
  /** A table, bucket or folder does not exist. */
  | 'STORAGE_MISSING'
  /** A permission is missing. */
  | 'STORAGE_DENIED'
  /** The storage did not answer, throttled, or failed. */
  | 'STORAGE_UNAVAILABLE'
  /** No space is left. */
  | 'STORAGE_FULL'
  /** A record is larger than the storage takes. */
  | 'RECORD_TOO_LARGE'
  /** A conditional write met something else than it expected. */
  | 'CONDITION_FAILED';
