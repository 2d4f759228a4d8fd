/** How far a failure reaches: one step, this invocation, or the whole run. */
export type ErrorScope = 'step' | 'invocation' | 'run';

/** The base class of every error that Waitstate throws. `code` is stable, even in minified or duplicate bundles. */
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

/**
 * Whether a value is an error of Waitstate, from any copy of the package, with one of the given codes if there are any.
 */
export function isWaitstateError(error: unknown, ...codes: readonly ErrorCode[]): error is WaitstateError {
  if (!(error instanceof Error && 'code' in error && 'scope' in error)) return false;
  return codes[0] ? codes.includes(error.code as ErrorCode) : typeof error.code === 'string';
}

/** The codes that mean that a run no longer exists or can no longer be read, for good. */
export const RUN_GONE_CODES = ['RUN_NOT_FOUND', 'RUN_DELETED', 'RUN_EXPIRED', 'RUN_SHREDDED'] as const;

/** Whether the storage itself failed, rather than the request. */
export const isStorageError = (error: unknown): error is WaitstateError =>
  isWaitstateError(error) && error.code.startsWith('STORAGE_');

/** What went wrong, as a stable code for programs. */
export type ErrorCode =
  /** An argument is invalid. */
  | 'INVALID_INPUT'
  /** A value cannot be stored in a checkpoint. */
  | 'UNSUPPORTED_VALUE'
  /** Another writer was first; load the run and try again. */
  | 'STALE_VERSION'
  /** The run does not exist. */
  | 'RUN_NOT_FOUND'
  /** A run with this id already exists. */
  | 'RUN_EXISTS'
  /** The run was deleted; its id cannot be reused for a while. */
  | 'RUN_DELETED'
  /** The last write to the run is older than its retention. */
  | 'RUN_EXPIRED'
  /** The checkpoint does not exist. */
  | 'CHECKPOINT_NOT_FOUND'
  /** The checkpoint was emptied by a prune. */
  | 'CHECKPOINT_PRUNED'
  /** Another checkpoint of the run has this name. */
  | 'NAME_TAKEN'
  /** The change is not allowed in the run's current status. */
  | 'TRANSITION_REFUSED'
  /** There is no earlier state to go back to. */
  | 'NOTHING_TO_UNDO'
  /** Nothing was undone since the last change. */
  | 'NOTHING_TO_REDO'
  /** Stored data differs from what was written. */
  | 'DAMAGED'
  /** A newer version of Waitstate wrote the data. */
  | 'FORMAT_TOO_NEW'
  /** The schema or its migrations are incomplete. */
  | 'SCHEMA_INVALID'
  /** Newer agent code wrote the state. */
  | 'SCHEMA_TOO_NEW'
  /** A migration threw. */
  | 'MIGRATION_FAILED'
  /** The key that decrypts the run is not available. */
  | 'KEY_UNAVAILABLE'
  /** The run is not encrypted, but the operation or the store needs it to be. */
  | 'RUN_NOT_ENCRYPTED'
  /** The key of the run was destroyed. */
  | 'RUN_SHREDDED'
  /** A table, bucket or folder does not exist. */
  | 'STORAGE_MISSING'
  /** A permission is missing. */
  | 'STORAGE_DENIED'
  /** The storage did not respond, throttled the request, or failed. */
  | 'STORAGE_UNAVAILABLE'
  /** No space is left. */
  | 'STORAGE_FULL'
  /** A record exceeds the size limit of the storage. */
  | 'RECORD_TOO_LARGE'
  /** The condition of a write did not hold. */
  | 'CONDITION_FAILED'
  /** The lease of a worker has ended, or another one took over the run. */
  | 'LEASE_LOST'
  /** The run has ended. */
  | 'RUN_ENDED'
  /** A value does not match the schema that the agent declares. */
  | 'SCHEMA_REFUSED'
  /** No agent with this name is registered. */
  | 'AGENT_NOT_FOUND'
  /** The agent's code uses the API incorrectly. */
  | 'AGENT_MISUSED'
  /** Non-determinism: the code calls a different operation than the journal recorded. */
  | 'STEP_MISMATCH'
  /** A step failed permanently. */
  | 'STEP_FAILED'
  /** A step that may run only once was started, and its outcome is unknown. */
  | 'OUTCOME_UNKNOWN'
  /** The run ended without a result. */
  | 'RUN_FAILED'
  /** The run was cancelled. */
  | 'RUN_CANCELLED'
  /** A step, a run or a wait took longer than its timeout. */
  | 'TIMED_OUT'
  /** The approval does not exist, or the approval link is invalid. */
  | 'APPROVAL_NOT_FOUND'
  /** The approval was already decided differently. */
  | 'APPROVAL_DECIDED'
  /** The approval expired before it was decided. */
  | 'APPROVAL_EXPIRED'
  /** The approval was withdrawn. */
  | 'APPROVAL_WITHDRAWN'
  /** The approval shows something else than what the decision is about. */
  | 'APPROVAL_CHANGED'
  /** The caller is not an approver. */
  | 'NOT_AN_APPROVER'
  /** An idempotency key was used before with another request. */
  | 'IDEMPOTENCY_KEY_REUSED'
  /** An approval excludes the requester of the run, but the run does not say who requested it. */
  | 'REQUESTER_UNKNOWN';
