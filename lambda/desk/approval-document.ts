import type { Doc } from '../checkpoints/document/document.ts';
import { present } from '../core/present.ts';
import { approvalDoc } from '../runtime/approvals/approval-content.ts';
import { type ApprovalView, type Show, termsOf } from '../runtime/approvals/view.ts';

/** An approval with what is shown as documents, in which `$` nodes stand for what JSON lacks. */
export interface ApprovalDocument extends Omit<ApprovalView, 'show' | 'facts' | 'changed'> {
  readonly show?: Doc;
  readonly facts?: Readonly<Record<string, Doc>>;
  readonly changed?: { readonly before: Doc; readonly after: Doc };
}

/** The document of an approval that was found; it needs no code of the agent that asked. */
export const documentOf: Show<ApprovalDocument> = async (at, found) => {
  const sealing = await found.sealing();
  const doc = await approvalDoc(at, sealing, found.approval);
  const { title, show, facts, changed } = doc as unknown as ApprovalDocument;
  return { ...termsOf(at, sealing, found), title, ...present({ show, facts, changed }) };
};
