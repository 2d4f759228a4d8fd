import type { Doc } from '../checkpoints/document/document.ts';
import type { ApprovalView } from '../runtime/approvals/view.ts';

/** An approval with what is shown as documents, in which `$` nodes stand for what JSON lacks. */
export interface ApprovalDocument extends Omit<ApprovalView, 'show' | 'facts' | 'changed'> {
  readonly show?: Doc;
  readonly facts?: Readonly<Record<string, Doc>>;
  readonly changed?: { readonly before: Doc; readonly after: Doc };
}
