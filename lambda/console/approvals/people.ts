import type { Doc } from '../../checkpoints/engine.ts';
import { isExcluded } from '../../core/requester.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { showDocument } from '../document/show-document.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { revealHidden, userText } from '../text.ts';
import { relativeTime } from '../time.ts';
import { OWN_PAGE, section } from './section.ts';
import { approvalBadge, fullAnswer, isQuestion } from './words.ts';

/** The votes of an approval, and the approvers who have not voted. */
export function peopleSection(approval: ApprovalDocument, now: Date, place = OWN_PAGE): Html {
  const { approvers, votes, status, requestedBy, excludeRequester } = approval;
  const answered = new Set(votes.filter(({ counts }) => counts).flatMap(({ by, as }) => [by, as]));
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

function voteOf(
  approval: ApprovalDocument,
  { by, as, membership, answer, at, comment, edits, value, counts }: ApprovalDocument['votes'][number],
  now: Date,
): Html {
  const earlier = isQuestion(approval)
    ? 'somebody gave another answer later'
    : 'it was for an earlier version of the request';
  return html`<li><span class="line"><strong>${userText(by)}</strong>${as !== undefined && html`<span class="quiet">for ${userText(as)}${membership === 'stated' && ', as stated by an administrator'}</span>`} ${approvalBadge(approval, answer === 'approve' ? 'APPROVED' : 'REJECTED')} <span class="quiet">${relativeTime(at, now)}</span></span>
${!counts && html`<p class="hint">Does not count any more: ${earlier}.</p>`}
${value !== undefined && fullAnswer(approval, value)}
${comment !== undefined && html`<div class="text" dir="auto">${revealHidden(comment)}</div>`}
${edits !== undefined && html`<div class="doc"><p class="hint">With these changes:</p>${showDocument(edits as Doc)}</div>`}</li>`;
}

/** The vote of a person on what is decided on now. */
export const ownVote = ({ votes }: Pick<ApprovalDocument, 'votes'>, person: string | undefined) =>
  votes.find(({ by, counts }) => counts && by === person);

/** How many people approved what is decided on now. */
export const approvalCount = ({ votes }: Pick<ApprovalDocument, 'votes'>): number =>
  votes.filter(({ answer, counts }) => counts && answer === 'approve').length;

/** Names, separated by commas. */
export const nameList = (names: readonly string[]): readonly HtmlValue[] =>
  names.map((name, i) => html`${i > 0 && ', '}<span class="name">${userText(name)}</span>`);
