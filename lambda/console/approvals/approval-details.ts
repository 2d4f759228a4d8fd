import { type Doc, isFields, specialOf } from '../../checkpoints/engine.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { showTruncated } from '../document/show-document.ts';
import { pluralize, type ShowOptions } from '../document/show-options.ts';
import { type Html, html } from '../markup.ts';
import { notice } from '../notice.ts';
import { userText } from '../text.ts';
import { relativeAndExactTime } from '../time.ts';
import { followUpReason, proposedChanges } from './changed-facts.ts';
import { approvalCount } from './people.ts';

// Approvers must see everything that they decide on; this limit only keeps a page from breaking the browser.
const MOST_BYTES = 1024 * 1024;

/** The title of an approval request, its terms, and everything that it shows. */
export function approvalDetails(approval: ApprovalDocument, showing: ShowOptions, now: Date): Html {
  const { title, agent, requestNumber, run, show, facts, changed } = approval;
  return html`<header>
<p class="eyebrow">${agent === undefined ? 'A run' : userText(agent)} requests approval${requestNumber > 1 && ` for the ${ordinal(requestNumber)} time`} · run <span class="id">${userText(run)}</span></p>
<h1>${userText(title)}</h1>
</header>
${terms(approval, now)}
${unsentNotice(approval, now)}
${changed && followUpReason(changed)}
${proposedChanges(approval)}
${isThere(show) && card('shown', 'Details', show, showing)}
${isThere(facts) && card('facts', 'Facts', facts, showing)}`;
}

function terms(approval: ApprovalDocument, now: Date): Html {
  const { requestedAt, requestedBy, deadline, status, quorum, votes, endedAt } = approval;
  return html`<dl class="facts" data-key="terms" data-quiet data-rev="${status} ${votes.length} ${deadline?.getTime()}">
<div><dt>Requested</dt><dd>${relativeAndExactTime(requestedAt, now)}</dd></div>
${requestedBy !== undefined && html`<div><dt>Run requested by</dt><dd>${userText(requestedBy)}</dd></div>`}
${
  status === 'PENDING'
    ? html`<div><dt>Decide by</dt><dd>${deadline ? relativeAndExactTime(deadline, now) : 'No deadline'}</dd></div>`
    : endedAt && html`<div><dt>Closed</dt><dd>${relativeAndExactTime(endedAt, now)}</dd></div>`
}
<div><dt>Approvals</dt><dd>${approvalCount(approval)} of ${quorum} needed</dd></div>
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

const card = (id: string, title: string, doc: Doc, showing: ShowOptions): Html =>
  html`<section class="card" aria-labelledby="${id}"><h2 id="${id}">${title}</h2><div class="doc">${showTruncated(doc, MOST_BYTES, showing)}</div></section>`;

/** Whether the agent provided a document: omitted ones are stored as undefined. */
const isThere = (doc: Doc | undefined): doc is Doc =>
  doc !== undefined && specialOf(doc) !== 'undefined' && !(isFields(doc) && Object.keys(doc).length === 0);

const ordinal = (n: number): string => (n === 2 ? 'second' : n === 3 ? 'third' : `${n}th`);

/** How many approvals are still missing, in words. */
export const remainingApprovals = (approval: ApprovalDocument): string =>
  pluralize(Math.max(0, approval.quorum - approvalCount(approval)), 'more approval');
