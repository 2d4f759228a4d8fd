import type { ErrorCode } from '../lambda/core/errors.ts';

/** The exit codes of the command. */
export const EXIT = {
  ok: 0,
  /** The command failed, a check found a problem, or the user declined. */
  failed: 1,
  /** The arguments or the input are invalid, or --yes is missing. */
  usage: 2,
  /** Not found, or no longer there. */
  notFound: 3,
  /** Another writer was faster, or the run or approval has ended. */
  conflict: 4,
  /** Permission denied. */
  denied: 5,
  /** The storage is unavailable or full; retry later. */
  unavailable: 6,
  /** The stored data is damaged, or was written by a newer version. */
  damaged: 7,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The exit code for each error code. */
export const EXIT_CODE_BY_ERROR: Readonly<Record<ErrorCode, ExitCode>> = {
  INVALID_INPUT: EXIT.usage,
  UNSUPPORTED_VALUE: EXIT.usage,
  SCHEMA_REFUSED: EXIT.usage,
  AGENT_MISUSED: EXIT.usage,
  RECORD_TOO_LARGE: EXIT.usage,
  RUN_NOT_FOUND: EXIT.notFound,
  CHECKPOINT_NOT_FOUND: EXIT.notFound,
  AGENT_NOT_FOUND: EXIT.notFound,
  APPROVAL_NOT_FOUND: EXIT.notFound,
  RUN_DELETED: EXIT.notFound,
  RUN_EXPIRED: EXIT.notFound,
  RUN_SHREDDED: EXIT.notFound,
  CHECKPOINT_PRUNED: EXIT.notFound,
  STORAGE_MISSING: EXIT.notFound,
  STALE_VERSION: EXIT.conflict,
  RUN_EXISTS: EXIT.conflict,
  NAME_TAKEN: EXIT.conflict,
  TRANSITION_REFUSED: EXIT.conflict,
  NOTHING_TO_UNDO: EXIT.conflict,
  NOTHING_TO_REDO: EXIT.conflict,
  LEASE_LOST: EXIT.conflict,
  RUN_ENDED: EXIT.conflict,
  CONDITION_FAILED: EXIT.conflict,
  APPROVAL_DECIDED: EXIT.conflict,
  APPROVAL_CHANGED: EXIT.conflict,
  APPROVAL_EXPIRED: EXIT.conflict,
  APPROVAL_WITHDRAWN: EXIT.conflict,
  NOT_AN_APPROVER: EXIT.denied,
  IDEMPOTENCY_KEY_REUSED: EXIT.conflict,
  REQUESTER_UNKNOWN: EXIT.usage,
  STORAGE_DENIED: EXIT.denied,
  KEY_UNAVAILABLE: EXIT.denied,
  RUN_NOT_ENCRYPTED: EXIT.denied,
  STORAGE_UNAVAILABLE: EXIT.unavailable,
  STORAGE_FULL: EXIT.unavailable,
  TIMED_OUT: EXIT.unavailable,
  DAMAGED: EXIT.damaged,
  FORMAT_TOO_NEW: EXIT.damaged,
  SCHEMA_INVALID: EXIT.damaged,
  SCHEMA_TOO_NEW: EXIT.damaged,
  MIGRATION_FAILED: EXIT.damaged,
  STEP_MISMATCH: EXIT.failed,
  STEP_FAILED: EXIT.failed,
  OUTCOME_UNKNOWN: EXIT.failed,
  RUN_FAILED: EXIT.failed,
  RUN_CANCELLED: EXIT.failed,
};
