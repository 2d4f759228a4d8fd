import type { ErrorCode } from '../lambda/core/errors.ts';

/** What to do about an error at the command line, where its message speaks to those who write code. */
export const ADVICE: {
  readonly [C in ErrorCode]?: { readonly text: string; readonly insteadOfLastSentence: boolean };
} = {
  RUN_NOT_FOUND: instead('"holdpoint runs" lists what there is; --tenant names another tenant.'),
  CHECKPOINT_NOT_FOUND: also('"holdpoint history RUN" lists the checkpoints.'),
  CHECKPOINT_PRUNED: instead('"holdpoint history RUN" shows which are left.'),
  APPROVAL_NOT_FOUND: also('"holdpoint approvals RUN" lists those of a run.'),
  STALE_VERSION: instead('Somebody was faster. Look again (holdpoint show RUN), then repeat the command.'),
  NOT_AN_APPROVER: also('--as names who answers, --group the groups that they are in.'),
  DAMAGED: also('"holdpoint verify RUN" says how far the run can be trusted.'),
  STORAGE_DENIED: also('"holdpoint doctor" looks for what is missing.'),
  STORAGE_UNAVAILABLE: also('"holdpoint doctor" looks for the reason.'),
  RUN_NOT_ENCRYPTED: also('Unset HOLDPOINT_KMS_KEY to look at runs that are not encrypted.'),
  RUN_ENDED: also('"holdpoint fork RUN" or "holdpoint rewind RUN VERSION" goes on from an earlier checkpoint.'),
};

function instead(text: string) {
  return { text, insteadOfLastSentence: true };
}

function also(text: string) {
  return { text, insteadOfLastSentence: false };
}
