import type { ErrorCode } from '../lambda/core/errors.ts';

/** What to do about an error at the command line. Error messages themselves address the author of an agent. */
export const ADVICE: {
  readonly [C in ErrorCode]?: { readonly text: string; readonly replacesLastSentence: boolean };
} = {
  RUN_NOT_FOUND: replacing('Run "waitstate runs" to list the runs. Use --tenant to choose another tenant.'),
  CHECKPOINT_NOT_FOUND: appended('Run "waitstate history RUN" to list the checkpoints.'),
  CHECKPOINT_PRUNED: replacing('Run "waitstate history RUN" to see which checkpoints are left.'),
  APPROVAL_NOT_FOUND: appended('Run "waitstate approvals RUN" to list the approvals of a run.'),
  STALE_VERSION: replacing(
    'Another writer was faster. Run "waitstate show RUN" to see the current state, then repeat the command.',
  ),
  NOT_AN_APPROVER: appended('Use --as to say who decides, and --group for the groups of that person.'),
  DAMAGED: appended('Run "waitstate verify RUN" to see which checkpoints are intact.'),
  STORAGE_DENIED: appended('Run "waitstate doctor" to find the missing permissions.'),
  STORAGE_UNAVAILABLE: appended('Run "waitstate doctor" to find the cause.'),
  RUN_NOT_ENCRYPTED: appended('Unset WAITSTATE_KMS_KEY to work on runs that are not encrypted.'),
  RUN_ENDED: appended(
    'Use "waitstate fork RUN" or "waitstate rewind RUN VERSION" to continue from an earlier checkpoint.',
  ),
};

function replacing(text: string) {
  return { text, replacesLastSentence: true };
}

function appended(text: string) {
  return { text, replacesLastSentence: false };
}
