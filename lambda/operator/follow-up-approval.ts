import type { RunContext } from '../checkpoints/engine.ts';
import { isWaitstateError } from '../core/errors.ts';
import { findApproval } from '../runtime/approvals/change.ts';
import { type ApprovalDocument, toApprovalDocument } from './approval-document.ts';

/** The question that followed one that was approved, since what was approved did not hold; undefined when none did. */
export async function followUpApproval(
  at: RunContext,
  { id, ask, outcome }: Pick<ApprovalDocument, 'id' | 'ask' | 'outcome'>,
): Promise<ApprovalDocument | undefined> {
  if (outcome !== 'approve') return undefined;
  const first = ask > 1 ? id.slice(0, -`~${ask}`.length) : id;
  try {
    return await toApprovalDocument(at, await findApproval(at, `${first}~${ask + 1}`));
  } catch (error) {
    if (isWaitstateError(error, 'APPROVAL_NOT_FOUND')) return undefined;
    throw error;
  }
}
