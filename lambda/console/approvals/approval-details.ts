import { type Doc, isFields, specialOf } from '../../checkpoints/engine.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { showTruncated } from '../document/show-document.ts';
import { pluralize, type ShowOptions } from '../document/show-options.ts';
import { type Html, html } from '../markup.ts';
import { notice } from '../notice.ts';
import { userText } from '../text.ts';
import { relativeAndExactTime } from '../time.ts';
import { followUpReason, givenAnswer, proposedChanges } from './changed-facts.ts';
import { approvalCount } from './people.ts';
import { OWN_PAGE, section } from './section.ts';
import { isQuestion, requestVerb } from './words.ts';

// Approvers must see everything that they decide on; this limit only keeps a page from breaking the browser.
const MOST_BYTES = 1024 * 1024;

/** The title of an approval request, its terms, and everything that it shows. */
export function approvalDetails(approval: ApprovalDocument, showing: ShowOptions, now: Date): Html {
  const { title, agent, requestNumber, run } = approval;
  return html`<header>
<p class="eyebrow">${agent === undefined ? 'A run' : userText(agent)} ${requestVerb(approval)}${requestNumber > 1 && ` for the ${ordinal(requestNumber)} time`} · run <span class="id">${userText(run)}</span></p>
<h1>${userText(title)}</h1>
</header>
${approvalTerms(approval, now)}
${unsentNotice(approval, now)}
${approvalContent(approval, showing)}`;
}

/** Everything that a request shows: why it is requested again, proposed changes, details and facts. */
export function approvalContent(approval: ApprovalDocument, showing: ShowOptions, place = OWN_PAGE): Html {
  const { show, facts, changed } = approval;
  const card = (id: string, title: string, doc: Doc): Html =>
    section(
      place,
      { id, className: 'card' },
      title,
      html`<div class="doc">${showTruncated(doc, MOST_BYTES, showing)}</div>`,
    );
  return html`${changed && followUpReason(approval, changed, place)}
${isQuestion(approval) ? givenAnswer(approval, place) : proposedChanges(approval, place)}
${isThere(show) && card('shown', 'Details', show)}
${isThere(facts) && card('facts', 'Facts', facts)}`;
}

/** When a request was made, until when it can be decided, and how many approvals it needs. */
export function approvalTerms(approval: ApprovalDocument, now: Date, { suffix } = OWN_PAGE): Html {
  const { requestedAt, requestedBy, deadline, status, quorum, votes, endedAt } = approval;
  const [decideBy, decisions] = isQuestion(approval) ? ['Answer by', 'Equal answers'] : ['Decide by', 'Approvals'];
  return html`<dl class="facts" data-key="terms${suffix}" data-quiet data-rev="${status} ${votes.length} ${deadline?.getTime()}">
<div><dt>Requested</dt><dd>${relativeAndExactTime(requestedAt, now)}</dd></div>
${requestedBy !== undefined && html`<div><dt>Run requested by</dt><dd>${userText(requestedBy)}</dd></div>`}
${
  status === 'PENDING'
    ? html`<div><dt>${decideBy}</dt><dd>${deadline ? relativeAndExactTime(deadline, now) : 'No deadline'}</dd></div>`
    : endedAt && html`<div><dt>Closed</dt><dd>${relativeAndExactTime(endedAt, now)}</dd></div>`
}
${(quorum > 1 || !isQuestion(approval)) && html`<div><dt>${decisions}</dt><dd>${approvalCount(approval)} of ${quorum} needed</dd></div>`}
</dl>`;
}

/** Says that approvers have not been notified, and what to do. */
function unsentNotice({ agent, unsentNotification: unsent }: ApprovalDocument, now: Date): Html {
  const name = agent === undefined ? 'the agent' : html`agent ${userText(agent)}`;
  const why =
    unsent &&
    (unsent.attempts === 0
      ? html`The notification was due ${relativeAndExactTime(unsent.since, now)}, but no running process has ${name}. Start a process that has it.`
      : html`The first attempt was ${relativeAndExactTime(unsent.since, now)}; ${pluralize(unsent.attempts, 'attempt')} failed. Waitstate tries again. Check the log of ${name}.`);
  return html`<div data-key="unsent" data-rev="${unsent?.attempts}">${why && notice('wait', 'Approvers have not been notified', html`<p>${why}</p>`)}</div>`;
}

/** Whether the agent provided a document: omitted ones are stored as undefined. */
const isThere = (doc: Doc | undefined): doc is Doc =>
  doc !== undefined && specialOf(doc) !== 'undefined' && !(isFields(doc) && Object.keys(doc).length === 0);

const ordinal = (n: number): string => (n === 2 ? 'second' : n === 3 ? 'third' : `${n}th`);
