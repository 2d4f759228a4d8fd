import type { Caller } from '../../http/caller.ts';
import { hasRole, OPERATE_ROLES } from '../../http/roles.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { fragment } from '../fragment.ts';
import { type Html, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { userText } from '../text.ts';
import { relativeAndExactTime } from '../time.ts';
import { followUpSummary } from './changed-facts.ts';
import { nameList } from './people.ts';

/** Whose inbox: what waits for one person, or everything that waits. */
export interface InboxView {
  readonly caller: Caller;
  /** Absent for everything. */
  readonly person?: string | undefined;
  readonly groups: readonly string[];
  readonly approvals: readonly ApprovalDocument[];
  /** What was asked until this moment is on the page. */
  readonly since: Date;
  readonly now: Date;
}

/** What stands in URLs for the inbox of all. */
export const EVERYBODY = 'everybody';

/** What waits for an answer, oldest first: since when, and until when. */
export function inboxPage(view: InboxView): Html {
  const { caller, person } = view;
  return page({
    title: 'Inbox',
    caller,
    current: 'inbox',
    live: liveUrl(view),
    body: html`<header class="head"><div>
<h1>Inbox</h1>
<p class="lead">${person === undefined ? 'Everything that waits for an answer' : html`What waits for ${userText(person)}`}, oldest first</p>
</div></header>
${views(view)}
${caller.answersForOthers && chooser(view)}
${list(view)}`,
  });
}

/** The list alone, for a page that is open. */
export const inboxChanges = (view: InboxView): Html =>
  fragment(liveUrl(view), `${view.approvals.length} wait for an answer.`, list(view));

const liveUrl = ({ person, groups, since }: InboxView): string =>
  `${PATHS.inbox}/changes${queryString({ as: person ?? EVERYBODY, groups: groups.join(','), since: since.getTime() })}`;

/** Operators choose between their own inbox and all of it. */
function views({ caller, person }: InboxView): Html | false {
  if (!hasRole(caller, OPERATE_ROLES) || caller.person === undefined) return false;
  const tab = (as: string, label: string, isCurrent: boolean) =>
    html`<li><a href="${PATHS.inbox}${queryString({ as })}"${isCurrent && html` aria-current="true"`}>${label}</a></li>`;
  return html`<ul class="tabs" aria-label="Whose inbox">${tab(EVERYBODY, 'Everything', person === undefined)}${tab(caller.person, 'For me', person === caller.person)}</ul>`;
}

/** Where somebody may answer for others, they choose for whom. */
function chooser({ caller, person, groups }: InboxView): Html {
  return html`<details${person !== undefined && person !== caller.person && html` open`}><summary>Answer for somebody else</summary>
<form class="filters" method="get" action="${PATHS.inbox}" role="search" aria-label="Choose an inbox">
<div><label for="as">Their name</label><input id="as" name="as" value="${person ?? ''}" placeholder="user:ann" maxlength="256" autocomplete="off" autocapitalize="off" spellcheck="false"></div>
<div><label for="groups">Their groups (optional)</label><input id="groups" name="groups" value="${groups.join(', ')}" placeholder="group:finance" maxlength="2000" autocomplete="off" autocapitalize="off" spellcheck="false"></div>
<div class="actions"><button>Show their inbox</button></div>
</form></details>`;
}

function list({ approvals, person, caller, now }: InboxView): Html {
  const as = caller.answersForOthers ? person : undefined;
  const votes = approvals.reduce((sum, approval) => sum + approval.votes.length, 0);
  const rev = `${approvals.length} ${approvals.at(-1)?.askedAt.getTime()} ${votes}`;
  return html`<div data-key="inbox" data-quiet data-rev="${rev}">${
    approvals.length === 0
      ? empty(caller)
      : html`<ul class="inbox card sheet">${approvals.map((approval) => item(approval, as, now))}</ul>`
  }</div>`;
}

function item(approval: ApprovalDocument, as: string | undefined, now: Date): Html {
  const { run, id, title, agent, askedAt, deadline, quorum, votes, approvers, changed } = approval;
  return html`<li>
<div><h2><a href="${PATHS.approval(run, id)}${queryString({ as })}">${userText(title)}</a></h2>
<p class="quiet">${agent !== undefined && html`${userText(agent)} · `}<span class="id">${userText(run)}</span> · asked of ${nameList(approvers)}</p>
${changed && html`<p>Asked again, because ${followUpSummary(changed)}</p>`}</div>
<dl><div><dt>Waits since</dt><dd>${relativeAndExactTime(askedAt, now)}</dd></div>
<div><dt>Answer until</dt><dd>${deadline ? relativeAndExactTime(deadline, now) : 'no deadline'}</dd></div>
${quorum > 1 && html`<div><dt>Approvals</dt><dd>${votes.length} of ${quorum}</dd></div>`}</dl>
</li>`;
}

const empty = (caller: Caller): Html =>
  html`<section class="card empty"><h2>Nothing waits for an answer</h2>
<p>Questions that agents ask with <code>ctx.approval</code> appear here by themselves.</p>
${hasRole(caller, OPERATE_ROLES) && html`<p class="actions"><a class="button" href="${PATHS.start}">Start a run</a><a class="button" href="${PATHS.runs}">Look at the runs</a></p>`}</section>`;
