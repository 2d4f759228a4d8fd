// The labels that the runtime gives to its checkpoints. They are not encrypted, so they name operations and never hold
// values of the agent.

/** Names the operations with a failed attempt. */
export const FAILED_LABEL = 'failed';
/** Names the steps that were undone. */
export const UNDONE_LABEL = 'undone';
/** What a checkpoint without a step records: `sleep nap`, `end of signal seat`. */
export const NOTE_LABEL = 'note';
/** What a run that is suspended with the checkpoint waits for: `signal seat, call billing`. */
export const WAITS_LABEL = 'waits';
/**
 * The milliseconds that each operation of the checkpoint took, in the order of its steps and then of its failed
 * attempts. Absent if that is the time since the checkpoint before: nothing else ran since then, and no retry waited.
 */
export const TOOK_LABEL = 'took';
/** The code of the error with which a run was ended from outside, such as `TIMED_OUT`. */
export const ENDED_LABEL = 'ended';
