import { voterName } from '../../core/delegation.ts';
import type { Caller } from '../../http/caller.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { approvalBadge, shortAnswer, votedVerb } from '../approvals/words.ts';
import { runBreadcrumbs } from '../crumbs.ts';
import { type Html, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS } from '../paths.ts';
import { userText } from '../text.ts';
import { relativeTime } from '../time.ts';

/** The page with all approvals of a run and their votes. */
export const runApprovalsPage = (
  caller: Caller,
  run: string,
  approvals: readonly ApprovalDocument[],
  now: Date,
): Html =>
  page({
    title: 'Approvals',
    caller,
    current: 'runs',
    body: html`${runBreadcrumbs(run)}
<h1>Approvals</h1>
<section class="card" id="approvals" aria-labelledby="approvals-title"><h2 id="approvals-title">Approvals</h2>${
      approvals.length === 0
        ? html`<p class="quiet">No approvals requested.</p>`
        : html`<ul class="votes">${approvals.map((approval) => approvalItem(approval, now))}</ul>`
    }</section>`,
  });

function approvalItem(approval: ApprovalDocument, now: Date): Html {
  const { run, id, title, status, requestedAt, votes } = approval;
  const decisions = votes.map((vote) => {
    const { answer, value } = vote;
    const given = value === undefined ? undefined : shortAnswer(approval, value);
    return html`<span>${userText(voterName(vote))} ${votedVerb(approval, answer)}${given && html`: ${given}`}</span>`;
  });
  return html`<li><p><a href="${PATHS.approval(run, id)}">${userText(title)}</a></p>
<p class="line quiet">${approvalBadge(approval, status)}<span>requested ${relativeTime(requestedAt, now)}</span>${decisions}</p></li>`;
}
