import type { ApprovalMeta, ApprovalTerms, GroupMembers, Person } from './approval.ts';
import { WaitstateError } from './errors.ts';
import { invalidInput } from './invalid-input.ts';
import { isGroup } from './person.ts';

type Exclusion = Pick<ApprovalMeta, 'excludeRequester' | 'requestedBy'>;

/** Whether a person cannot vote on an approval, because they requested its run. */
export const isExcluded = ({ excludeRequester, requestedBy }: Exclusion, person: string | undefined): boolean =>
  excludeRequester === true && requestedBy === person;

/**
 * Refuses a request that excludes the requester if nobody knows who that is, or if too few approvers are left. A group
 * whose members are unknown may have enough.
 */
export function checkRequester(
  name: string,
  { excludeRequester, approvers, quorum }: Pick<ApprovalTerms, 'excludeRequester' | 'approvers' | 'quorum'>,
  requestedBy: Person | undefined,
  members: GroupMembers = {},
): void {
  if (!excludeRequester) return;
  if (requestedBy === undefined)
    throw new WaitstateError(
      'REQUESTER_UNKNOWN',
      `Approval "${name}" has \`excludeRequester: true\`, but the run does not say who requested it, so nobody could be excluded. Start the run with \`requestedBy\`, such as "user:ann".`,
      { scope: 'run' },
    );
  if (approvers.some((approver) => isGroup(approver) && !members[approver])) return;
  const people = new Set(approvers.flatMap((approver) => (isGroup(approver) ? (members[approver] ?? []) : [approver])));
  people.delete(requestedBy);
  if (people.size < quorum)
    throw invalidInput(
      '`quorum`',
      `at most ${people.size}, the number of approvers besides ${requestedBy}, who requested the run and is excluded (\`excludeRequester\`). Add approvers`,
      quorum,
    );
}

/** The error for a vote of the excluded requester, or for one that someone else casts for them. */
export const requesterExcluded = ({ name }: Pick<ApprovalMeta, 'name'>, requester: string): WaitstateError =>
  new WaitstateError(
    'NOT_AN_APPROVER',
    `"${requester}" requested the run, and whoever requested it does not decide "${name}" (\`excludeRequester\`). Another approver must decide.`,
  );
