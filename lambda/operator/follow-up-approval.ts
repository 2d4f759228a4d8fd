import { readApprovals } from '../runtime/approvals/approval-records.ts';
import type { FoundApproval } from '../runtime/approvals/find-approval.ts';

/** The request that followed an approved one because facts had changed or edits were not accepted; undefined if none. */
export async function findFollowUp(found: FoundApproval): Promise<FoundApproval | undefined> {
  const { id, meta } = found.approval;
  if (meta.outcome !== 'approve') return undefined;
  const first = meta.requestNumber > 1 ? id.slice(0, -`~${meta.requestNumber}`.length) : id;
  const [approval] = await readApprovals(found.at, [`${first}~${meta.requestNumber + 1}`]);
  return approval && { ...found, approval };
}
