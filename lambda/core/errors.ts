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
  return error instanceof Error && 'code' in error && 'scope' in error && (code ? error.code === code : isCode(error.code));
}

/** Every code, with what it means to a caller. */
export const ERROR_CODES = {
  INVALID_INPUT: 'an argument is not what the call takes',
  UNSUPPORTED_VALUE: 'a value cannot be kept in a checkpoint',
  STALE_VERSION: 'somebody else wrote first; load and try again',
  RUN_NOT_FOUND: 'no such run',
  RUN_EXISTS: 'the id is taken',
  RUN_DELETED: 'the run was deleted, and its id is refused for a while',
  RUN_EXPIRED: 'the run was not written to for longer than its retention',
  CHECKPOINT_NOT_FOUND: 'the run has no such checkpoint',
  CHECKPOINT_PRUNED: 'the checkpoint was emptied by a prune',
  NAME_TAKEN: 'another checkpoint of the run has the name',
  TRANSITION_REFUSED: 'a run in this status cannot go to that one',
  NOTHING_TO_UNDO: 'there is no earlier change to go back to',
  NOTHING_TO_REDO: 'nothing was undone since the last change',
  DAMAGED: 'what is stored is not what was written',
  FORMAT_TOO_NEW: 'a newer Holdpoint wrote this',
  SCHEMA_INVALID: 'the ladder of migrations has a missing step',
  SCHEMA_TOO_NEW: 'newer code than this wrote the state',
  MIGRATION_FAILED: 'a migration threw',
  KEY_UNAVAILABLE: 'the key that opens the run is not at hand',
  RUN_NOT_ENCRYPTED: 'a store with keys found a run without encryption',
  RUN_SHREDDED: 'the key of the run was destroyed',
  STORAGE_MISSING: 'a table, bucket or folder does not exist',
  STORAGE_DENIED: 'a permission is missing',
  STORAGE_UNAVAILABLE: 'the storage did not answer, throttled, or failed',
  STORAGE_FULL: 'no space is left',
  RECORD_TOO_LARGE: 'a record is larger than the storage takes',
  CONDITION_FAILED: 'a conditional write met something else than it expected',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

const isCode = (code: unknown): boolean => typeof code === 'string' && code in ERROR_CODES;
