import type { Caller } from '../../http/caller.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { runBreadcrumbs } from '../crumbs.ts';
import { type Html, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS } from '../paths.ts';
import { statusBadge } from '../status-badge.ts';
import { userText } from '../text.ts';
import { relativeTime } from '../time.ts';

/** All that people were asked in a run, and what they answered. */
export const runApprovalsPage = (
  caller: Caller,
  run: string,
  approvals: readonly ApprovalDocument[],
  now: Date,
): Html =>
  page({
    title: 'Questions',
    caller,
    current: 'runs',
    body: html`${runBreadcrumbs(run)}
<h1>Questions</h1>
<section class="card" id="questions" aria-labelledby="questions-title"><h2 id="questions-title">Questions</h2>${
      approvals.length === 0
        ? html`<p class="quiet">Nobody was asked anything.</p>`
        : html`<ul class="votes">${approvals.map((approval) => item(approval, now))}</ul>`
    }</section>`,
  });

function item({ run, id, title, status, askedAt, votes }: ApprovalDocument, now: Date): Html {
  const answers = votes.map(
    ({ by, answer }) => html`<span>${userText(by)} ${answer === 'approve' ? 'approved' : 'rejected'}</span>`,
  );
  return html`<li><p><a href="${PATHS.approval(run, id)}">${userText(title)}</a></p>
<p class="line quiet">${statusBadge(status)}<span>asked ${relativeTime(askedAt, now)}</span>${answers}</p></li>`;
}
