import { type ApprovalContent, approvalDoc, type ShownDoc } from '../runtime/approvals/approval-content.ts';
import { type ApprovalView, type Show, termsOf } from '../runtime/approvals/view.ts';

/** An approval with what is shown as documents, in which `$` nodes stand for what JSON lacks. */
export interface ApprovalDocument extends Omit<ApprovalView, keyof ApprovalContent>, ShownDoc {}

/** The document of an approval that was found; it needs no code of the agent that asked. */
export const documentOf: Show<ApprovalDocument> = async (at, found) => {
  const sealing = await found.sealing();
  return { ...termsOf(at, sealing, found), ...(await approvalDoc(at, sealing, found.approval)) };
};
