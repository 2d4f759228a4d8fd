import { type ApprovalContent, readApprovalDocument, type ShownDoc } from '../runtime/approvals/approval-content.ts';
import { type ApprovalView, type Show, toApprovalTerms } from '../runtime/approvals/view.ts';

/** An approval with what is shown as documents, in which `$` nodes stand for what JSON lacks. */
export interface ApprovalDocument extends Omit<ApprovalView, keyof ApprovalContent>, ShownDoc {}

/** The document of an approval that was found; it needs no code of the agent that asked. */
export const toApprovalDocument: Show<ApprovalDocument> = async (at, found) => {
  const cipher = await found.cipher();
  return { ...toApprovalTerms(at, cipher, found), ...(await readApprovalDocument(at, cipher, found.approval)) };
};
