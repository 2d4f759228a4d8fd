import { WaitstateError } from '../../../lambda/core/errors.ts';
import type { ApprovalDocument } from '../../../lambda/operator/approval-document.ts';
import type { Operator } from '../../../lambda/operator/operator.ts';

/** Finds the approval that is named or, without a name, the only pending one. */
export async function findApproval(
  operator: Operator,
  run: string,
  approval: string | undefined,
): Promise<ApprovalDocument> {
  if (approval !== undefined) return operator.approval(run, approval);
  const { pendingApprovals, status } = await operator.run(run);
  const [only, ...others] = pendingApprovals;
  if (only === undefined)
    throw new WaitstateError('APPROVAL_NOT_FOUND', `Run "${run}" is ${status} and has no pending approval.`);
  if (others.length > 0)
    throw new WaitstateError(
      'INVALID_INPUT',
      `Run "${run}" has ${pendingApprovals.length} pending approvals: ${pendingApprovals.join(', ')}. Name one of them.`,
    );
  return operator.approval(run, only);
}

/** Throws unless an approval is pending. */
export function checkPending({ run, id, status }: ApprovalDocument, consequence: string): void {
  if (status === 'PENDING') return;
  const code =
    status === 'EXPIRED' ? 'APPROVAL_EXPIRED' : status === 'WITHDRAWN' ? 'APPROVAL_WITHDRAWN' : 'APPROVAL_DECIDED';
  throw new WaitstateError(code, `Approval "${id}" of run "${run}" is ${status}: ${consequence}.`);
}
