import type { Doc } from '../../checkpoints/engine.ts';
import { votersOf } from '../../core/approval-votes.ts';
import { isExcluded } from '../../core/requester.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { showDocument } from '../document/show-document.ts';
import { pluralize } from '../document/show-options.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { badge } from '../status-badge.ts';
import { revealHidden, userText } from '../text.ts';
import { relativeTime } from '../time.ts';
import { OWN_PAGE, section } from './section.ts';
import { approvalBadge, fullAnswer, isQuestion } from './words.ts';

/** The votes of an approval, and the approvers who have not voted. */
export function peopleSection(approval: ApprovalDocument, now: Date, place = OWN_PAGE): Html {
  const { approvers, votes, status, requestedBy, excludeRequester } = approval;
  // An answer that differs from the newest one is still an answer.
  const answered = new Set(
    votes.filter(({ counts }) => counts || isQuestion(approval)).flatMap(({ by, for: person, as }) => [by, person, as]),
  );
  const [title, notYet, never] = isQuestion(approval)
    ? ['Who can answer', 'Not answered yet: ', 'Did not answer: ']
    : ['Approvers', 'Not voted yet: ', 'Did not vote: '];
  const others = approvers.filter((approver) => !answered.has(approver) && !isExcluded(approval, approver));
  return section(
    place,
    { id: 'people', className: 'card', rev: `${status} ${votes.length} ${approvers.length}` },
    title,
    votes.length > 0 && html`<ul class="votes">${votes.map((vote) => voteOf(approval, vote, now))}</ul>`,
    others.length > 0 && html`<p>${status === 'PENDING' ? notYet : never}${nameList(others)}</p>`,
    excludeRequester &&
      requestedBy !== undefined &&
      html`<p class="hint">${userText(requestedBy)} requested the run and does not decide.</p>`,
  );
}

function voteOf(approval: ApprovalDocument, vote: ApprovalDocument['votes'][number], now: Date): Html {
  const { by, for: person, as, membership, answer, at, comment, edits, value, counts } = vote;
  return html`<li><span class="line"><strong>${userText(by)}</strong>${person !== undefined && html` <span>for ${userText(person)}</span>`}${as !== undefined && html`<span class="quiet">${person === undefined ? 'for' : 'of'} ${userText(as)}${membership === 'stated' && ', as stated by an administrator'}</span>`} ${counts ? approvalBadge(approval, answer === 'approve' ? 'APPROVED' : 'REJECTED') : badge('neutral', isQuestion(approval) ? 'Answered' : 'Approved before')} <span class="quiet">${relativeTime(at, now)}</span></span>
${!counts && html`<p class="hint">${whyNotCounted(approval, vote)}</p>`}
${value !== undefined && fullAnswer(approval, value)}
${comment !== undefined && html`<div class="text" dir="auto">${revealHidden(comment)}</div>`}
${edits !== undefined && html`<div class="doc"><p class="hint">With these changes:</p>${showDocument(edits as Doc)}</div>`}</li>`;
}

function whyNotCounted(approval: ApprovalDocument, vote: ApprovalDocument['votes'][number]): string {
  if (!isQuestion(approval)) return 'Does not count any more: it was for an earlier version of the request.';
  const later = approval.votes.slice(approval.votes.indexOf(vote) + 1);
  const isReplaced = later.some((each) => votersOf(each).some((person) => votersOf(vote).includes(person)));
  if (isReplaced) return 'Replaced by a later answer.';
  return approval.status === 'PENDING'
    ? 'Differs from the newest answer. It counts again if somebody gives the same answer.'
    : 'Differs from the answer that was accepted.';
}

/** The vote of a person on what is decided on now, also if someone cast it for them. */
export const ownVote = ({ votes }: Pick<ApprovalDocument, 'votes'>, person: string | undefined) =>
  person === undefined
    ? undefined
    : votes.find((vote) => vote.counts && votersOf(vote).some((each) => each === person));

/** How many people approved what is decided on now. */
export const approvalCount = ({ votes }: Pick<ApprovalDocument, 'votes'>): number =>
  votes.filter(({ answer, counts }) => counts && answer === 'approve').length;

/** How many approvals or equal answers are still missing, in words. */
export const remainingApprovals = (approval: ApprovalDocument): string =>
  pluralize(
    Math.max(0, approval.quorum - approvalCount(approval)),
    isQuestion(approval) ? 'more equal answer' : 'more approval',
  );

/** Names, separated by commas. */
export const nameList = (names: readonly string[]): readonly HtmlValue[] =>
  names.map((name, i) => html`${i > 0 && ', '}<span class="name">${userText(name)}</span>`);
