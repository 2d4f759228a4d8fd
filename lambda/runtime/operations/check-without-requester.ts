import { type ApprovalRequest, checkApprovalRequest, type GroupMembers } from '../../core/approval.ts';
import { checkRequester } from '../../core/requester.ts';
import { listGroupMembers } from '../approvals/group-members.ts';
import type { Invocation } from '../invocation/invocation.ts';
import type { ApprovalEntry } from '../journal/entries.ts';

/**
 * Records that a request is refused, because the requester whom it excludes is unknown or because too few approvers
 * are left; returns undefined if it can be made. It is recorded because the members of a group may change until a replay.
 */
export async function recordRefusal(
  invocation: Invocation,
  id: string,
  name: string,
  request: ApprovalRequest,
  entry: ApprovalEntry,
): Promise<ApprovalEntry | undefined> {
  const terms = checkApprovalRequest(request);
  return invocation.runActive(async () => {
    try {
      checkRequester(
        name,
        terms,
        invocation.writer.loaded.head.meta.requestedBy,
        await knownMembers(invocation, terms),
      );
      return undefined;
    } catch (error) {
      await invocation.record({ entries: [[id, { ...entry, error }]] });
      return invocation.journal.entry(id) as ApprovalEntry;
    }
  });
}

/** The members of the groups, if the agent lists them now; approvers are notified later, and it is asked again then. */
async function knownMembers(
  { agent: { members } }: Invocation,
  { approvers }: Pick<ApprovalRequest, 'approvers'>,
): Promise<GroupMembers> {
  if (!members) return {};
  try {
    return await listGroupMembers(approvers, async (group) => members(group));
  } catch {
    return {};
  }
}
