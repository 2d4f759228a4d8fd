import {
  type ApprovalMeta,
  applyTimeouts,
  countProposals,
  endApproval,
  isEncryptedText,
  type Vote,
  type VoteAnswer,
} from './approval.ts';
import type { GroupMembers } from './approval-request.ts';
import { voterName } from './delegation.ts';
import { WaitstateError } from './errors.ts';
import { invalidInput } from './invalid-input.ts';
import { isGroup, type Person } from './person.ts';
import { isExcluded, requesterExcluded } from './requester.ts';

type Voted = Pick<ApprovalMeta, 'votes'>;

/** How a person is an approver: by name, through one of their groups (`as`), or not at all (undefined). */
export function matchApprover(
  { approvers }: Pick<ApprovalMeta, 'approvers'>,
  by: string,
  groups: readonly string[] = [],
): { readonly as?: string } | undefined {
  // A caller who claims to be a group would vote for all of its members.
  if (isGroup(by)) return undefined;
  if (approvers.some((approver) => approver === by)) return {};
  const as = approvers.find((approver) => isGroup(approver) && groups.includes(approver));
  return as === undefined ? undefined : { as };
}

/** The groups that are known to have this person as a member. */
export const groupsOf = (members: GroupMembers, person: string): readonly string[] =>
  Object.keys(members).filter((group) => members[group]?.some((member) => member === person));

/** The groups for which a person can vote: those that have them as a member, and open ones whose members are unknown. */
export function groupsToVoteFor(
  { approvers, openGroups }: Pick<ApprovalMeta, 'approvers' | 'openGroups'>,
  members: GroupMembers = {},
  person: string,
): readonly string[] {
  const open = openGroups ? approvers.filter((approver) => isGroup(approver) && !members[approver]) : [];
  return [...groupsOf(members, person), ...open];
}

/** The hash of the newest proposed changes; undefined while the request stands as it was made. */
export const currentProposal = ({ votes }: Voted): string | undefined =>
  votes.findLast(({ proposes }) => proposes)?.proposal;

/** The votes for what is decided on now: the newest of each person, unless it approves anything else. */
export function currentVotes(meta: Voted): readonly Vote[] {
  const proposal = currentProposal(meta);
  const newest = new Map(meta.votes.flatMap((vote) => votersOf(vote).map((person) => [person, vote])));
  return meta.votes.filter(
    (vote) =>
      votersOf(vote).every((person) => newest.get(person) === vote) &&
      (vote.answer === 'reject' || vote.proposal === proposal),
  );
}

/** The people whose vote it is: a delegate's vote for someone is the vote of both. */
export const votersOf = ({ by, for: person }: Pick<Vote, 'by' | 'for'>): readonly Person[] =>
  person === undefined ? [by] : [by, person];

/** Whether a person has voted on what is decided on now, or someone voted for them. */
export const hasVoted = (meta: Voted, person: string): boolean =>
  currentVotes(meta).some((vote) => votersOf(vote).some((voter) => voter === person));

/** The hash that identifies what is decided on now: the request, or the newest proposed changes to it. */
export const shownHash = (meta: Pick<ApprovalMeta, 'votes' | 'contentHash'>): string =>
  currentProposal(meta) ?? meta.contentHash;

/**
 * The approval after a vote. A vote with changes is a new proposal: earlier approvals do not cover it, and their voters
 * can vote again. Repeating your own vote, or voting for the outcome that was already reached, changes nothing. Any
 * other vote after that is rejected, and so is a late one.
 */
export function castVote(meta: ApprovalMeta, newVote: Vote): ApprovalMeta {
  const { by, answer, at, proposal } = newVote;
  const voters = votersOf(newVote);
  const approver = newVote.for ?? by;
  const now = applyTimeouts(meta, at);
  if (!matchApprover(now, approver, newVote.as === undefined ? [] : [newVote.as])) throw notAnApprover(now, approver);
  const excluded = voters.find((person) => isExcluded(now, person));
  if (excluded) throw requesterExcluded(now, excluded);
  if (now.status === 'EXPIRED') throw approvalExpired(now);
  if (now.status === 'WITHDRAWN') throw approvalWithdrawn(now);
  const isProposal = answer === 'approve' && proposal !== currentProposal(now);
  const earlierVotes = isProposal
    ? []
    : currentVotes(now).filter((earlier) => votersOf(earlier).some((person) => voters.includes(person)));
  const earlierVote = earlierVotes.find((earlier) => earlier.by === by) ?? earlierVotes[0];
  // Otherwise a second vote of one person would look as if it had been counted.
  if (earlierVote?.by === by && earlierVote.for !== newVote.for && now.status === 'PENDING')
    throw votedAlready(now, earlierVote);
  if (earlierVote ? earlierVote.answer === answer : !isProposal && now.outcome === answer) return meta;
  if (earlierVote || now.status !== 'PENDING') throw approvalDecided(now, earlierVote);
  if (isProposal && countProposals(now) >= MAX_PROPOSALS) throw tooManyProposals(now);
  return countVotes({ ...now, votes: [...now.votes, isProposal ? { ...newVote, proposes: true } : newVote] }, at);
}

const MAX_PROPOSALS = 20;

const tooManyProposals = ({ question }: ApprovalMeta): WaitstateError =>
  question
    ? invalidInput(
        '`value`',
        `the newest answer, because ${MAX_PROPOSALS} answers were given already`,
        'another answer',
      )
    : invalidInput(
        '`edits`',
        `absent, because ${MAX_PROPOSALS} changes were proposed already (approve the newest, or reject the request)`,
        'another proposal',
      );

function countVotes(meta: ApprovalMeta, at: number): ApprovalMeta {
  const newest = meta.votes.at(-1);
  if (newest?.answer === 'reject') return endApproval(meta, { status: 'REJECTED', outcome: 'reject', endedAt: at });
  if (currentVotes(meta).length >= meta.quorum)
    return endApproval(meta, { status: 'APPROVED', outcome: 'approve', endedAt: at });
  return newest?.proposes
    ? { ...meta, pendingNotification: 'proposed', notifyAttempts: undefined, notifyAt: at }
    : meta;
}

/** When something happened, for the middle of a sentence. */
const atTime = (time: number | undefined): string => (time === undefined ? '' : ` at ${new Date(time).toISOString()}`);

/** A person is not an approver. Its message names groups whose members nobody knows. */
export class NotAnApproverError extends WaitstateError {
  override readonly name = 'NotAnApproverError';
  readonly approvers: readonly string[];
  /** Says nothing about the approvers, for callers who cannot read the run. */
  readonly discreetMessage: string;

  constructor(message: string, advice: string, approvers: readonly string[]) {
    super('NOT_AN_APPROVER', `${message} ${advice}`);
    this.approvers = approvers;
    this.discreetMessage = `${message} ${ASK_APPROVERS}`;
  }
}

const ASK_APPROVERS = 'Ask one of its approvers to decide.';

/** The error for a person who is not an approver; it names groups whose members nobody knows. */
export function notAnApprover(
  { name, approvers }: Pick<ApprovalMeta, 'name' | 'approvers'>,
  by: string,
  members: GroupMembers = {},
): NotAnApproverError {
  const unknown = approvers.filter((approver) => isGroup(approver) && !members[approver]);
  const why =
    unknown.length === 0
      ? ASK_APPROVERS
      : `The members of ${unknown.join(', ')} are unknown: give the agent a \`members\` hook, decide through a login or portal that knows them, or request the approval with \`openGroups: true\`.`;
  const message = `"${by}" is not an approver of "${name}", neither by name nor through a group.`;
  return new NotAnApproverError(message, why, approvers);
}

export const approvalExpired = ({ name, deadline }: ApprovalMeta): WaitstateError =>
  new WaitstateError(
    'APPROVAL_EXPIRED',
    `Approval "${name}" expired${atTime(deadline)}; this decision came later and does not count.`,
  );

function approvalWithdrawn({ name, endedAt, withdrawalReason = '' }: ApprovalMeta): WaitstateError {
  const reason = isEncryptedText(withdrawalReason) ? '' : withdrawalReason.replace(/\.$/, '');
  return new WaitstateError(
    'APPROVAL_WITHDRAWN',
    `Approval "${name}" was withdrawn${atTime(endedAt)}${reason && `: ${reason}`}. No decision is needed.`,
  );
}

const verbOf = ({ question }: ApprovalMeta, answer: VoteAnswer): string =>
  question ? (answer === 'approve' ? 'answered' : 'declined') : `voted ${answer}`;

const votedAlready = (meta: ApprovalMeta, vote: Vote): WaitstateError =>
  new WaitstateError(
    'APPROVAL_DECIDED',
    `${meta.question ? 'Question' : 'Approval'} "${meta.name}": ${voterName(vote)} ${verbOf(meta, vote.answer)}${atTime(vote.at)}. One person has one vote, even when they answer for others. Nothing was changed.`,
  );

function approvalDecided(meta: ApprovalMeta, earlierVote: Vote | undefined): WaitstateError {
  const { name, votes, endedAt, question } = meta;
  const vote = earlierVote ?? votes.at(-1);
  const decided = vote
    ? `${voterName(vote)} ${verbOf(meta, vote.answer)}${atTime(vote.at)}`
    : `it was decided${atTime(endedAt)}`;
  const [what, other] = question ? ['Question', 'answer'] : ['Approval', 'vote'];
  return new WaitstateError(
    'APPROVAL_DECIDED',
    `${what} "${name}" cannot get a different ${other}: ${decided}. Nothing was changed.`,
  );
}
