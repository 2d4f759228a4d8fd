import type { Doc } from '../../checkpoints/engine.ts';
import type { ApprovalStatus, VoteAnswer } from '../../core/approval.ts';
import { describeAnswer } from '../../core/forms/answer-text.ts';
import { toForm } from '../../core/forms/form-field.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { showDocument } from '../document/show-document.ts';
import { type Html, html } from '../markup.ts';
import { statusBadge } from '../status-badge.ts';
import { revealHidden, userText } from '../text.ts';

type Asked = Pick<ApprovalDocument, 'answerSchema'>;

/** Whether people are asked for an answer, not for an approval. */
export const isQuestion = ({ answerSchema }: Asked): boolean => answerSchema !== undefined;

const QUESTION_LABELS: Readonly<Partial<Record<ApprovalStatus, string>>> = {
  APPROVED: 'Answered',
  REJECTED: 'Declined',
};

/** The status of an approval or a question as a badge. */
export const approvalBadge = (approval: Asked, status: ApprovalStatus): Html =>
  statusBadge(status, isQuestion(approval) ? QUESTION_LABELS[status] : undefined);

/** What an agent does, or did, with a request. */
export function requestVerb(approval: Asked & Pick<ApprovalDocument, 'status'>): string {
  const isPending = approval.status === 'PENDING';
  if (isQuestion(approval)) return isPending ? 'asks a question' : 'asked a question';
  return isPending ? 'requests approval' : 'requested approval';
}

/** What somebody did, in the past tense. */
export const votedVerb = (approval: Asked, answer: VoteAnswer): string =>
  isQuestion(approval)
    ? answer === 'approve'
      ? 'answered'
      : 'declined'
    : answer === 'approve'
      ? 'approved'
      : 'rejected';

/** An answer, for the middle of a line: labels of choices, a short text, or undefined for anything longer. */
export function shortAnswer({ answerSchema = {} }: Asked, value: unknown): Html | undefined {
  const { kind } = toForm(answerSchema);
  const text = describeAnswer(answerSchema, value);
  const isShort = kind !== 'group' && kind !== 'json' && text.length <= MAX_SHORT_CHARACTERS && !text.includes('\n');
  return isShort ? userText(text) : undefined;
}

const MAX_SHORT_CHARACTERS = 120;

/** An answer in full. */
export function fullAnswer(approval: Asked, value: unknown): Html {
  const short = shortAnswer(approval, value);
  if (short) return html`<p>${short}</p>`;
  if (typeof value === 'string') return html`<div class="text" dir="auto">${revealHidden(value)}</div>`;
  return html`<div class="doc">${showDocument(value as Doc)}</div>`;
}
