import { WaitstateError } from '../../../lambda/core/errors.ts';
import type { ApprovalDocument } from '../../../lambda/operator/approval-document.ts';
import type { Operator } from '../../../lambda/operator/operator.ts';

/** The approval that is meant: the one that is named, or the only one that is open. */
export async function findApproval(
  operator: Operator,
  run: string,
  approval: string | undefined,
): Promise<ApprovalDocument> {
  if (approval !== undefined) return operator.approval(run, approval);
  const { openApprovals, status } = await operator.run(run);
  const [only, ...others] = openApprovals;
  if (only === undefined)
    throw new WaitstateError('APPROVAL_NOT_FOUND', `Run "${run}" is ${status} and asks nothing just now.`);
  if (others.length > 0)
    throw new WaitstateError(
      'INVALID_INPUT',
      `Run "${run}" asks ${openApprovals.length} things: ${openApprovals.join(', ')}. Name the one that you mean.`,
    );
  return operator.approval(run, only);
}

/** Refuses what can only be done while an approval is open. */
export function checkPending({ run, id, status }: ApprovalDocument, consequence: string): void {
  if (status === 'PENDING') return;
  const code =
    status === 'EXPIRED' ? 'APPROVAL_EXPIRED' : status === 'WITHDRAWN' ? 'APPROVAL_WITHDRAWN' : 'APPROVAL_DECIDED';
  throw new WaitstateError(code, `Approval "${id}" of run "${run}" is ${status}: ${consequence}.`);
}
