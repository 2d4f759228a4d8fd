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
): Deciders | undefined {
  if (!canDecide(caller)) return undefined;
  const hasAnswered = ownVote(approval, person) !== undefined;
  if (caller.decidesForOthers) {
    const { approvers, members = {}, openGroups } = approval;
    const possible = approvers.flatMap((approver) => (isGroup(approver) ? (members[approver] ?? []) : [approver]));
    const people = [...new Set(possible)].filter((each) => !ownVote(approval, each) && !isExcluded(approval, each));
    const groups = openGroups ? approvers.filter((approver) => isGroup(approver) && !members[approver]) : [];
    const isMeant =
      person !== undefined &&
      !hasAnswered &&
      !isExcluded(approval, person) &&
      (people.some((each) => each === person) || groups.length > 0);
    return people.length + groups.length > 0 ? { people, groups, chosen: isMeant ? person : undefined } : undefined;
  }
  const groups = [...caller.groups, ...groupsOf(approval.members ?? {}, person ?? '')];
  if (person === undefined || hasAnswered || isExcluded(approval, person)) return undefined;
  if (!matchApprover(approval, person, groups)) return undefined;
  return { as: person };
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
