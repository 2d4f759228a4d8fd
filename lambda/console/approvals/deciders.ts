import { isGroup } from '../../core/approval.ts';
import { groupsOf, matchApprover } from '../../core/approval-votes.ts';
import { isExcluded } from '../../core/requester.ts';
import type { Caller } from '../../http/caller.ts';
import { DECIDE_ROLES, hasRole } from '../../http/roles.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { type HtmlValue, html } from '../markup.ts';
import type { Deciders } from './decide-form.ts';
import { nameList, ownVote } from './people.ts';
import { isQuestion } from './words.ts';

/** Whether a caller can decide approvals at all, as a person or for others. */
const canDecide = (caller: Caller): boolean =>
  hasRole(caller, DECIDE_ROLES) && (caller.person !== undefined || caller.decidesForOthers);

/** Who can decide a request through this caller; undefined if nobody can, or the person has decided. */
export function findDeciders(
  caller: Caller,
  approval: ApprovalDocument,
  person: string | undefined,
  delegations: readonly { readonly person: string; readonly delegate: string }[] = [],
): Deciders | undefined {
  if (!canDecide(caller)) return undefined;
  const isOpen = (each: string) => !ownVote(approval, each) && !isExcluded(approval, each);
  const usable = delegations.filter((each) => isOpen(each.person) && isOpen(each.delegate));
  const hasAnswered = ownVote(approval, person) !== undefined;
  if (caller.decidesForOthers) {
    const { approvers, members = {}, openGroups } = approval;
    const possible = approvers.flatMap((approver) => (isGroup(approver) ? (members[approver] ?? []) : [approver]));
    const people = [...new Set(possible)].filter(isOpen);
    const delegates = usable.filter(({ delegate }) => !people.some((each) => each === delegate));
    const groups = openGroups ? approvers.filter((approver) => isGroup(approver) && !members[approver]) : [];
    const isMeant =
      person !== undefined &&
      !hasAnswered &&
      !isExcluded(approval, person) &&
      (groups.length > 0 || [...people, ...delegates.map(({ delegate }) => delegate)].some((each) => each === person));
    return people.length + groups.length + delegates.length > 0
      ? { people, delegates, groups, chosen: isMeant ? person : undefined }
      : undefined;
  }
  const groups = [...caller.groups, ...groupsOf(approval.members ?? {}, person ?? '')];
  if (person === undefined || hasAnswered || isExcluded(approval, person)) return undefined;
  if (matchApprover(approval, person, groups)) return { as: person };
  const answersFor = usable.filter(({ delegate }) => delegate === person).map((each) => each.person);
  return answersFor.length > 0 ? { as: person, for: answersFor } : undefined;
}

/** Whether delegations matter for what a caller is offered: only if they could answer for someone else. */
export function needsDelegations(caller: Caller, { approvers, members = {}, status }: ApprovalDocument): boolean {
  if (status !== 'PENDING' || !canDecide(caller)) return false;
  const { person = '', groups, decidesForOthers } = caller;
  return decidesForOthers || !matchApprover({ approvers }, person, [...groups, ...groupsOf(members, person)]);
}

/** Why a caller is not offered to decide a request. */
export function whyNotOffered(caller: Caller, approval: ApprovalDocument, person: string | undefined): HtmlValue {
  if (!canDecide(caller))
    return `You can view this ${isQuestion(approval) ? 'question, but not answer' : 'request, but not decide'} it.`;
  if (isExcluded(approval, person)) return 'You requested this run, so another approver must decide.';
  const unknown = approval.approvers.filter((approver) => isGroup(approver) && !approval.members?.[approver]);
  if (caller.decidesForOthers && unknown.length > 0)
    return html`The members of ${nameList(unknown)} are unknown. Give the agent a <code>members</code> hook, or request the approval with <code>openGroups: true</code>.`;
  return 'You are not an approver of this request.';
}
