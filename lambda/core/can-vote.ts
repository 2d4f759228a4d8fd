import type { ApprovalMeta, GroupMembers, Vote } from './approval.ts';
import { groupsToVoteFor, matchApprover, votersOf } from './approval-votes.ts';
import { isExcluded } from './requester.ts';

/** What decides whether a person can vote, as approvers and operators see it. */
type Voting = Pick<ApprovalMeta, 'approvers' | 'openGroups' | 'requestedBy' | 'excludeRequester'> & {
  readonly members?: GroupMembers;
  readonly votes: readonly (Pick<Vote, 'by' | 'for'> & { readonly counts: boolean })[];
};

/** Whether a delegate can vote for a person who is away. A group whose members nobody knows does not count. */
export function canVoteFor(approval: Voting, delegate: string, person: string): boolean {
  const { openGroups: _, ...closed } = approval;
  const isFree = !closed.votes.some((vote) => vote.counts && votersOf(vote).some((voter) => voter === delegate));
  return isFree && !isExcluded(closed, delegate) && canVote(closed, person);
}

/** Whether a person can vote on what is decided on now: by name, or through a group. */
export function canVote(approval: Voting, person: string, groups: readonly string[] = []): boolean {
  const hasVoted = approval.votes.some((vote) => vote.counts && votersOf(vote).some((voter) => voter === person));
  if (hasVoted || isExcluded(approval, person)) return false;
  const known = groupsToVoteFor(approval, approval.members, person);
  return matchApprover(approval, person, [...groups, ...known]) !== undefined;
}
