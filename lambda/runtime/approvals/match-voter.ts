import type { Context } from '../../checkpoints/engine.ts';
import type { ApprovalMeta, GroupMembers, Person, Vote } from '../../core/approval.ts';
import { groupsOf, groupsToVoteFor, hasVoted, matchApprover, notAnApprover } from '../../core/approval-votes.ts';
import { type Delegation, isActive, noDelegation } from '../../core/delegation.ts';
import { isGroup } from '../../core/person.ts';
import { isExcluded } from '../../core/requester.ts';
import type { DecideInput } from './decide-input.ts';
import { readDelegations } from './delegations.ts';
import type { FoundApproval } from './find-approval.ts';
import { readMembers } from './group-members.ts';

/** How a person may vote: by name, through a group (`as`), or for someone who delegated it to them (`for`). */
export type AllowedVote = Pick<Vote, 'as' | 'for' | 'delegation'>;

/** The terms of an approval that say who can vote. */
export type VotingTerms = Pick<ApprovalMeta, 'name' | 'approvers' | 'requestedBy' | 'excludeRequester'> & {
  readonly members: GroupMembers;
};

/**
 * Says how a person may vote, or throws NOT_AN_APPROVER: in their own right, by name or through a group that their login
 * or the agent says they belong to; or for someone who delegated it to them. Only then are delegations read.
 * `delegatorGroups` are groups of that person that are known otherwise.
 */
export async function matchVoter(
  { at, approval, cipher }: FoundApproval,
  now: ApprovalMeta,
  time: number,
  { by, for: person, groups = [] }: DecideInput,
  delegatorGroups: readonly string[] = [],
): Promise<AllowedVote> {
  const given = person === undefined ? matchApprover(now, by, groups) : undefined;
  if (given) return given;
  const members = now.members === undefined ? {} : readMembers(at, await cipher(), approval);
  const terms = { ...now, members };
  if (person !== undefined) return matchDelegate(at, terms, time, { by, person, groups: delegatorGroups });
  const found = matchApprover(now, by, groupsToVoteFor(now, members, by));
  if (found) return found;
  const [first, ...others] = await delegationsTo(at, terms, by, time);
  if (!first) throw notAnApprover(now, by, members);
  const canVote = ({ person: each }: Delegation) => !isExcluded(now, each) && !hasVoted(now, each);
  return allowedFor(terms, [first, ...others].find(canVote) ?? first);
}

/** The delegations to a person that hold now, of people who are approvers by name or known members of a group. */
async function delegationsTo(
  context: Context,
  terms: Pick<VotingTerms, 'approvers' | 'members'>,
  delegate: string,
  time = context.now(),
): Promise<readonly Delegation[]> {
  const delegations = await readDelegations(context, knownVoters(terms));
  return [...delegations.values()].filter((each) => each.delegate === delegate && isActive(each, time));
}

/** The approvers by name, and the known members of groups. */
export const knownVoters = ({ approvers, members }: Pick<VotingTerms, 'approvers' | 'members'>): readonly Person[] => [
  ...new Set(
    approvers.flatMap((approver): readonly Person[] => (isGroup(approver) ? (members[approver] ?? []) : [approver])),
  ),
];

async function matchDelegate(
  at: Context,
  terms: VotingTerms,
  time: number,
  { by, person, groups }: { readonly by: Person; readonly person: Person; readonly groups: readonly string[] },
): Promise<AllowedVote> {
  const delegation = (await readDelegations(at, [person])).get(person);
  if (delegation?.delegate !== by || !isActive(delegation, time)) throw noDelegation(by, person, delegation, time);
  return allowedFor(terms, delegation, groups);
}

function allowedFor(
  terms: VotingTerms,
  { person, from, until, createdBy, createdAt }: Delegation,
  groups: readonly string[] = [],
): AllowedVote {
  const { members } = terms;
  const found = matchApprover(terms, person, [...groupsOf(members, person), ...groups]);
  if (!found) throw notAnApprover(terms, person, members);
  return { ...found, for: person, delegation: { from, until, createdBy, createdAt } };
}
