/** How far a failure reaches: one step, this invocation of the process, or the whole run. */
export type ErrorScope = 'step' | 'invocation' | 'run';

/** The base of every error that Waitstate throws; `code` is stable and survives minification and duplicate bundles. */
export class WaitstateError extends Error {
  override readonly name: string = 'WaitstateError';
  readonly code: ErrorCode;
  readonly scope: ErrorScope;

  constructor(code: ErrorCode, message: string, options: { scope?: ErrorScope; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.scope = options.scope ?? 'invocation';
  }
}

/** Whether something is an error of Waitstate, with one of these codes if any are given, whichever copy of the package threw it. */
export function isWaitstateError(error: unknown, ...codes: readonly ErrorCode[]): error is WaitstateError {
  if (!(error instanceof Error && 'code' in error && 'scope' in error)) return false;
  return codes[0] ? codes.includes(error.code as ErrorCode) : typeof error.code === 'string';
}

/** Whether it was the storage that failed, and not what was asked of it. */
export const isStorageError = (error: unknown): error is WaitstateError =>
  isWaitstateError(error) && error.code.startsWith('STORAGE_');

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
  /** A newer Waitstate wrote this. */
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
  | 'CONDITION_FAILED'
  /** The run has ended; nothing more can happen to it. */
  | 'RUN_ENDED'
  /** What came does not fit the schema that the agent gives. */
  | 'SCHEMA_REFUSED'
  /** No agent of this name is known here. */
  | 'AGENT_NOT_FOUND'
  /** The agent is used in a way that it cannot be. */
  | 'AGENT_MISUSED'
  /** The code asks for another operation than the one that is recorded in its place. */
  | 'STEP_MISMATCH'
  /** A step failed for good. */
  | 'STEP_FAILED'
  /** A step that may run only once was begun, and nobody knows how it ended. */
  | 'OUTCOME_UNKNOWN'
  /** A run ended without a result. */
  | 'RUN_FAILED'
  /** The run was cancelled. */
  | 'RUN_CANCELLED'
  /** Something was not there in time. */
  | 'TIMED_OUT'
  /** There is no such approval, or the link is not one of ours. */
  | 'APPROVAL_NOT_FOUND'
  /** Another answer was given before. */
  | 'APPROVAL_DECIDED'
  /** The approval is over: nobody decided in time. */
  | 'APPROVAL_EXPIRED'
  /** The approval is no longer needed. */
  | 'APPROVAL_WITHDRAWN'
  /** Whoever decides is not asked. */
  | 'NOT_AN_APPROVER';
