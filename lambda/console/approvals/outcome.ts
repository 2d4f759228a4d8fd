import { voterName } from '../../core/delegation.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { notice } from '../notice.ts';
import { statusBadge } from '../status-badge.ts';
import { plainText, revealHidden, userText } from '../text.ts';
import { relativeAndExactTime } from '../time.ts';
import { followUpSummary, rejectedEdits } from './changed-facts.ts';
import { nameList, ownVote, remainingApprovals } from './people.ts';
import { fullAnswer, isQuestion, votedVerb } from './words.ts';

export interface OutcomeOptions {
  readonly person?: string | undefined;
  /** The URL of the run, for callers who can read runs. */
  readonly runUrl?: string | undefined;
  /** The follow-up request, after facts changed or edits were rejected. */
  readonly followUp?: ApprovalDocument | undefined;
  readonly followUpUrl?: string | undefined;
  readonly now: Date;
}

/** The outcome of an approval and the status of its run; empty while the reader can still decide. */
export function outcome(
  approval: ApprovalDocument,
  run: { readonly status: Status },
  { person, runUrl: link, followUp: again, followUpUrl: againLink, now }: OutcomeOptions,
): Html {
  const own = ownVote(approval, person);
  const rev = `${approval.status} ${approval.votes.length} ${run.status} ${own?.answer} ${again?.status}`;
  const shown = approval.status === 'PENDING' && !own ? false : describeOutcome(approval, own?.answer, now);
  const askedAgain = isQuestion(approval) ? 'Answered, but asked again' : 'Approved, but requested again';
  return html`<div data-key="outcome" data-rev="${rev}">${shown && notice(again ? 'wait' : toneOf(approval), again ? askedAgain : headline(approval, own, person), shown, again && asksAgain(again, againLink), runNow(run.status, approval, link))}</div>`;
}

/** Why approval is requested again, and a link to the new request. */
function asksAgain(again: ApprovalDocument, link: string | undefined): Html {
  const { changed, status } = again;
  const refused = changed && rejectedEdits(changed);
  const why =
    refused !== undefined
      ? html`<p>The ${isQuestion(again) ? 'answer was' : 'changes were'} not accepted:</p><div class="text" dir="auto">${revealHidden(refused)}</div>`
      : changed && html`<p>Meanwhile, ${followUpSummary(again, changed)}.</p>`;
  const words = status === 'PENDING' ? 'Open the new request' : 'View the new request';
  return html`${why}<p>${link === undefined ? 'The approvers receive a new link.' : html`<a class="button" href="${link}">${words}</a>`}</p>`;
}

const toneOf = ({ status }: ApprovalDocument): 'ok' | 'bad' | 'neutral' | 'wait' =>
  status === 'APPROVED' ? 'ok' : status === 'PENDING' ? 'wait' : 'neutral';

function headline(
  approval: ApprovalDocument,
  own: ApprovalDocument['votes'][number] | undefined,
  person: string | undefined,
): string {
  const { status, outcome: meant } = approval;
  const noun = isQuestion(approval) ? 'answer' : 'decision';
  switch (status) {
    case 'PENDING':
      return describeOwnVote(approval, own, person);
    case 'APPROVED':
      return isQuestion(approval) ? 'Answered' : 'Approved';
    case 'REJECTED':
      return isQuestion(approval) ? 'Declined' : 'Rejected';
    case 'EXPIRED':
      return meant === 'approve' ? 'Approved automatically: no decision in time' : `Expired: no ${noun} in time`;
    case 'WITHDRAWN':
      return `Withdrawn: no ${noun} is needed`;
  }
}

/** The vote of the reader, which a delegate may have cast. */
function describeOwnVote(
  approval: ApprovalDocument,
  own: ApprovalDocument['votes'][number] | undefined,
  person: string | undefined,
): string {
  const did = `${votedVerb(approval, own?.answer ?? 'reject')} this`;
  if (own?.for === undefined) return `You ${did}`;
  return own.for === person ? `${plainText(own.by)} ${did} for you` : `You ${did} for ${plainText(own.for)}`;
}

function describeOutcome(approval: ApprovalDocument, own: string | undefined, now: Date): HtmlValue {
  const { status, votes, endedAt, deadline, withdrawalReason, outcome: meant } = approval;
  if (status === 'PENDING')
    return (
      own &&
      html`<p>Your ${isQuestion(approval) ? 'answer' : 'decision'} is recorded. ${remainingApprovals(approval)} needed before the run resumes.</p>`
    );
  const when = endedAt && html` ${relativeAndExactTime(endedAt, now)}`;
  if (status === 'WITHDRAWN')
    return html`<p>Withdrawn${when}: ${userText(withdrawalReason ?? 'no reason given')}</p><p>${isQuestion(approval) ? NO_ANSWER : MEANING.reject}</p>`;
  if (status === 'EXPIRED')
    return html`<p>The deadline was${deadline && html` ${relativeAndExactTime(deadline, now)}`}. ${isQuestion(approval) && meant !== 'fail' ? NO_ANSWER : MEANING[meant ?? 'reject']}</p>`;
  const deciders = votes
    .filter(({ answer, counts }) => counts && (status !== 'REJECTED' || answer === 'reject'))
    .map(voterName);
  const given = status === 'APPROVED' && approval.answer && fullAnswer(approval, approval.answer.value);
  return html`${given}<p>By ${nameList(deciders)},${when}.</p>`;
}

const NO_ANSWER = 'The agent continues without an answer.';

const MEANING = {
  approve: 'The agent continues as if it was approved.',
  reject: 'The agent continues as if it was rejected.',
  fail: 'The run fails.',
} as const;

function runNow(status: Status, approval: ApprovalDocument, link: string | undefined): Html {
  // A run can succeed after a rejection.
  const known = approval.status === 'REJECTED' ? 'decision' : 'outcome';
  const ended =
    approval.outcome === 'reject' ? `The run resumed with that ${known} and has ended:` : 'The run has ended:';
  const words = hasEnded(status) ? ended : 'Run status:';
  return html`<p class="line">${words} ${statusBadge(status)}${link !== undefined && html` <a href="${link}">View run</a>`}${!hasEnded(status) && html` <a href="" class="quiet">Refresh</a>`}</p>`;
}
