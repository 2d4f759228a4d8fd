import { type ApprovalContent, type ContentDoc, readApprovalDocument } from '../runtime/approvals/approval-content.ts';
import type { FoundApproval } from '../runtime/approvals/find-approval.ts';
import { type ApprovalView, toApprovalTerms } from '../runtime/approvals/view.ts';

/** An approval with what it shows as documents: JSON in which `$` nodes stand for values that JSON lacks. */
export interface ApprovalDocument extends Omit<ApprovalView, keyof ApprovalContent>, ContentDoc {}

/** Renders an approval without the code of its agent. */
export async function toApprovalDocument(found: FoundApproval): Promise<ApprovalDocument> {
  const cipher = await found.cipher();
  return { ...toApprovalTerms(found, cipher), ...(await readApprovalDocument(found.at, cipher, found.approval)) };
}
