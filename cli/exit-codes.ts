import type { ErrorCode } from '../lambda/core/errors.ts';

/** What the exit codes of the command mean. */
export const EXIT = {
  ok: 0,
  /** It was tried and did not work, or what was checked is not right. */
  failed: 1,
  /** The command line asks for something that cannot be, or needs --yes. */
  usage: 2,
  /** What was named is not there, or no longer. */
  notFound: 3,
  /** It cannot be done as things stand: somebody was faster, or it is over. */
  conflict: 4,
  /** Whoever asks may not. */
  denied: 5,
  /** The storage does not answer, or is full; try again later. */
  unavailable: 6,
  /** What is stored cannot be read: it is damaged, or of newer code. */
  damaged: 7,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What each error ends the command with. */
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
  RUN_ENDED: EXIT.conflict,
  CONDITION_FAILED: EXIT.conflict,
  APPROVAL_DECIDED: EXIT.conflict,
  APPROVAL_EXPIRED: EXIT.conflict,
  APPROVAL_WITHDRAWN: EXIT.conflict,
  NOT_AN_APPROVER: EXIT.denied,
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
