import type { ErrorCode } from '../lambda/core/errors.ts';

/** What to do about an error at the command line, where its message speaks to those who write code. */
export const ADVICE: {
  readonly [C in ErrorCode]?: { readonly text: string; readonly insteadOfLastSentence: boolean };
} = {
  RUN_NOT_FOUND: instead('"waitstate runs" lists what there is; --tenant names another tenant.'),
  CHECKPOINT_NOT_FOUND: also('"waitstate history RUN" lists the checkpoints.'),
  CHECKPOINT_PRUNED: instead('"waitstate history RUN" shows which are left.'),
  APPROVAL_NOT_FOUND: also('"waitstate approvals RUN" lists those of a run.'),
  STALE_VERSION: instead('Somebody was faster. Look again (waitstate show RUN), then repeat the command.'),
  NOT_AN_APPROVER: also('--as names who answers, --group the groups that they are in.'),
  DAMAGED: also('"waitstate verify RUN" says how far the run can be trusted.'),
  STORAGE_DENIED: also('"waitstate doctor" looks for what is missing.'),
  STORAGE_UNAVAILABLE: also('"waitstate doctor" looks for the reason.'),
  RUN_NOT_ENCRYPTED: also('Unset WAITSTATE_KMS_KEY to look at runs that are not encrypted.'),
  RUN_ENDED: also('"waitstate fork RUN" or "waitstate rewind RUN VERSION" goes on from an earlier checkpoint.'),
};

function instead(text: string) {
  return { text, insteadOfLastSentence: true };
}

function also(text: string) {
  return { text, insteadOfLastSentence: false };
}
