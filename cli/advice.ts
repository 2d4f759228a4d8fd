import type { ErrorCode } from '../lambda/core/errors.ts';

/** What to do about an error at the command line, where its message speaks to those who write code. */
export const ADVICE: {
  readonly [C in ErrorCode]?: { readonly text: string; readonly insteadOfLastSentence: boolean };
} = {
  RUN_NOT_FOUND: replacing('"waitstate runs" lists what there is; --tenant names another tenant.'),
  CHECKPOINT_NOT_FOUND: appended('"waitstate history RUN" lists the checkpoints.'),
  CHECKPOINT_PRUNED: replacing('"waitstate history RUN" shows which are left.'),
  APPROVAL_NOT_FOUND: appended('"waitstate approvals RUN" lists those of a run.'),
  STALE_VERSION: replacing('Somebody was faster. Look again (waitstate show RUN), then repeat the command.'),
  NOT_AN_APPROVER: appended('--as names who answers, --group the groups that they are in.'),
  DAMAGED: appended('"waitstate verify RUN" says how far the run can be trusted.'),
  STORAGE_DENIED: appended('"waitstate doctor" looks for what is missing.'),
  STORAGE_UNAVAILABLE: appended('"waitstate doctor" looks for the reason.'),
  RUN_NOT_ENCRYPTED: appended('Unset WAITSTATE_KMS_KEY to look at runs that are not encrypted.'),
  RUN_ENDED: appended('"waitstate fork RUN" or "waitstate rewind RUN VERSION" goes on from an earlier checkpoint.'),
};

function replacing(text: string) {
  return { text, insteadOfLastSentence: true };
}

function appended(text: string) {
  return { text, insteadOfLastSentence: false };
}
