import { hasEnded, type Status } from '../../core/status.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { notice } from '../notice.ts';
import { statusBadge } from '../status-badge.ts';
import { revealHidden, userText } from '../text.ts';
import { relativeAndExactTime } from '../time.ts';
import { remainingApprovals } from './approval-details.ts';
import { followUpSummary, rejectedEdits } from './changed-facts.ts';
import { nameList } from './people.ts';

export interface OutcomeOptions {
  readonly person?: string | undefined;
  /** To the run, for those who may look at it. */
  readonly runUrl?: string | undefined;
  /** The question that followed, since what was approved did not hold. */
  readonly followUp?: ApprovalDocument | undefined;
  readonly followUpUrl?: string | undefined;
  readonly now: Date;
}

/** What came of an approval, and of its run since; nothing while the reader can still answer. */
export function outcome(
  approval: ApprovalDocument,
  run: { readonly status: Status },
  { person, runUrl: link, followUp: again, followUpUrl: againLink, now }: OutcomeOptions,
): Html {
  const own = approval.votes.find(({ by }) => by === person);
  const rev = `${approval.status} ${approval.votes.length} ${run.status} ${own?.answer} ${again?.status}`;
  const shown = approval.status === 'PENDING' && !own ? false : told(approval, own?.answer, now);
  return html`<div data-key="outcome" data-rev="${rev}">${shown && notice(again ? 'wait' : toneOf(approval), again ? 'Approved, but it is asked again' : headline(approval, own), shown, again && asksAgain(again, againLink), runNow(run.status, approval.outcome, link))}</div>`;
}

/** Why what was approved did not hold, and where it is asked again. */
function asksAgain({ changed, status }: ApprovalDocument, link: string | undefined): Html {
  const refused = changed && rejectedEdits(changed);
  const why =
    refused !== undefined
      ? html`<p>The changes were not accepted:</p><div class="text" dir="auto">${revealHidden(refused)}</div>`
      : changed && html`<p>Meanwhile ${followUpSummary(changed)}.</p>`;
  const words = status === 'PENDING' ? 'Open the new question' : 'Look at the new question';
  return html`${why}<p>${link === undefined ? 'Those who are asked get a new link.' : html`<a class="button" href="${link}">${words}</a>`}</p>`;
}

const toneOf = ({ status }: ApprovalDocument): 'ok' | 'bad' | 'rest' | 'wait' =>
  status === 'APPROVED' ? 'ok' : status === 'PENDING' ? 'wait' : 'rest';

function headline({ status, outcome: meant }: ApprovalDocument, own: { answer: string } | undefined): string {
  switch (status) {
    case 'PENDING':
      return own?.answer === 'approve' ? 'You approved this' : 'You rejected this';
    case 'APPROVED':
      return 'Approved';
    case 'REJECTED':
      return 'Rejected';
    case 'EXPIRED':
      return meant === 'approve' ? 'Approved, because nobody answered in time' : 'Nobody answered in time';
    case 'WITHDRAWN':
      return 'No answer is needed any more';
  }
}

function told(approval: ApprovalDocument, own: string | undefined, now: Date): HtmlValue {
  const { status, votes, endedAt, deadline, withdrawnBecause, outcome: meant } = approval;
  if (status === 'PENDING')
    return own && html`<p>It is recorded. ${remainingApprovals(approval)} needed before the run goes on.</p>`;
  const when = endedAt && html` ${relativeAndExactTime(endedAt, now)}`;
  if (status === 'WITHDRAWN')
    return html`<p>It was withdrawn${when}: ${userText(withdrawnBecause ?? 'no reason was given')}</p>`;
  if (status === 'EXPIRED')
    return html`<p>It could be answered until${deadline && html` ${relativeAndExactTime(deadline, now)}`}. ${MEANING[meant ?? 'reject']}</p>`;
  const deciders = votes.filter(({ answer }) => status !== 'REJECTED' || answer === 'reject').map(({ by }) => by);
  return html`<p>By ${nameList(deciders)},${when}.</p>`;
}

const MEANING = {
  approve: 'The agent takes that for a yes.',
  reject: 'The agent takes that for a no.',
  fail: 'The run fails with it.',
} as const;

function runNow(status: Status, meant: ApprovalDocument['outcome'], link: string | undefined): Html {
  // A run that was told no may well succeed.
  const ended = meant === 'reject' ? 'The run went on with that answer, and has ended:' : 'The run has ended:';
  const words = hasEnded(status) ? ended : 'The run is now:';
  return html`<p class="line">${words} ${statusBadge(status)}${link !== undefined && html` <a href="${link}">Look at the run</a>`}${!hasEnded(status) && html` <a href="" class="quiet">Look again</a>`}</p>`;
}
