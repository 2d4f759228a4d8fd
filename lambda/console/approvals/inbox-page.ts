import { isFields, specialOf } from '../../checkpoints/engine.ts';
import type { Caller } from '../../http/caller.ts';
import { hasRole, OPERATE_ROLES } from '../../http/roles.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { fragment } from '../fragment.ts';
import { type Html, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { plainText, userText } from '../text.ts';
import { elapsedTime, exactTime, relativeAndExactTime } from '../time.ts';
import { followUpSummary } from './changed-facts.ts';
import { approvalCount, nameList } from './people.ts';
import { isQuestion, shortAnswer } from './words.ts';

/** The inbox of one person, or of everybody. */
export interface InboxView {
  readonly caller: Caller;
  /** Absent for the inbox of everybody. */
  readonly person?: string | undefined;
  readonly groups: readonly string[];
  readonly approvals: readonly ApprovalDocument[];
  /** The page shows requests up to this time. */
  readonly since: Date;
  readonly now: Date;
}

/** The query value for the inbox of everybody. */
export const EVERYBODY = 'everybody';

/** Pending approvals, oldest first, with their waiting time and deadline. */
export function inboxPage(view: InboxView): Html {
  const { caller, person } = view;
  return page({
    title: 'Inbox',
    caller,
    current: 'inbox',
    live: liveUrl(view),
    body: html`<header class="head"><div>
<h1>Inbox</h1>
<p class="lead">${person === undefined ? 'All pending approvals' : html`Pending approvals for ${userText(person)}`}, oldest first</p>
</div></header>
${views(view)}
${caller.decidesForOthers && chooser(view)}
${list(view)}`,
  });
}

/** The list alone, to update an open page. */
export const inboxChanges = (view: InboxView): Html =>
  fragment(liveUrl(view), `Pending approvals: ${view.approvals.length}.`, list(view));

const liveUrl = ({ person, groups, since }: InboxView): string =>
  `${PATHS.inbox}/changes${queryString({ as: person ?? EVERYBODY, groups: groups.join(','), since: since.getTime() })}`;

/** Operators switch between their own inbox and that of everybody. */
function views({ caller, person }: InboxView): Html | false {
  if (!hasRole(caller, OPERATE_ROLES) || caller.person === undefined) return false;
  const tab = (as: string, label: string, isCurrent: boolean) =>
    html`<li><a href="${PATHS.inbox}${queryString({ as })}"${isCurrent && html` aria-current="true"`}>${label}</a></li>`;
  return html`<ul class="tabs" aria-label="Inbox">${tab(EVERYBODY, 'All', person === undefined)}${tab(caller.person, 'For me', person === caller.person)}</ul>`;
}

/** Callers who can decide for others choose a person. */
function chooser({ caller, person, groups }: InboxView): Html {
  return html`<details${person !== undefined && person !== caller.person && html` open`}><summary>Decide for someone else</summary>
<form class="filters" method="get" action="${PATHS.inbox}" role="search" aria-label="Choose an inbox">
<div><label for="as">Person</label><input id="as" name="as" value="${person ?? ''}" placeholder="user:ann" maxlength="256" autocomplete="off" autocapitalize="off" spellcheck="false"></div>
<div><label for="groups">Groups (optional)</label><input id="groups" name="groups" value="${groups.join(', ')}" placeholder="group:finance" maxlength="2000" autocomplete="off" autocapitalize="off" spellcheck="false"></div>
<div class="actions"><button>Show inbox</button></div>
</form></details>`;
}

function list({ approvals, person, caller, now }: InboxView): Html {
  const as = caller.decidesForOthers ? person : undefined;
  const votes = approvals.reduce((sum, approval) => sum + approval.votes.length, 0);
  const rev = `${approvals.length} ${approvals.at(-1)?.requestedAt.getTime()} ${votes}`;
  return html`<div data-key="inbox" data-quiet data-rev="${rev}">${
    approvals.length === 0
      ? empty(caller)
      : html`<ul class="inbox card sheet">${approvals.map((approval) => item(approval, as, now))}</ul>`
  }</div>`;
}

function item(approval: ApprovalDocument, as: string | undefined, now: Date): Html {
  const { run, id, title, agent, requestedAt, deadline, quorum, approvers, changed, proposal, answer } = approval;
  const given = answer && shortAnswer(approval, answer.value);
  return html`<li>
<div><h2><a href="${PATHS.approval(run, id)}${queryString({ as })}">${userText(title)}</a></h2>
<p class="quiet">${agent !== undefined && html`${userText(agent)} · `}<span class="id">${userText(run)}</span> · approvers: ${nameList(approvers)}</p>
${contentSummary(approval)}
${changed && html`<p>${isQuestion(approval) ? 'Asked' : 'Requested'} again because ${followUpSummary(approval, changed)}</p>`}
${proposal && html`<p>${userText(proposal.by)} proposes changes</p>`}
${answer && html`<p>${userText(answer.by)} answered${given && html`: ${given}`}</p>`}</div>
<dl><div><dt>Waiting for</dt><dd>${elapsedTime(requestedAt, now)} <span class="quiet">(since ${exactTime(requestedAt)})</span></dd></div>
<div><dt>${isQuestion(approval) ? 'Answer by' : 'Decide by'}</dt><dd>${deadline ? relativeAndExactTime(deadline, now) : 'No deadline'}</dd></div>
${quorum > 1 && html`<div><dt>${isQuestion(approval) ? 'Equal answers' : 'Approvals'}</dt><dd>${approvalCount(approval)} of ${quorum}</dd></div>`}</dl>
</li>`;
}

const MAX_SUMMARY_FIELDS = 4;
const MAX_SUMMARY_CHARACTERS = 60;

/** The first plain values that a request shows, which distinguish requests with the same title. */
function contentSummary({ facts, show }: ApprovalDocument): Html | false {
  const fields = [facts, show].flatMap((doc) =>
    isFields(doc) && specialOf(doc) === undefined ? Object.entries(doc) : [],
  );
  const values = fields.flatMap(([name, value]) => {
    const text = typeof value === 'object' ? '' : plainText(String(value));
    return text === '' ? [] : [`${plainText(name)}: ${text.slice(0, MAX_SUMMARY_CHARACTERS)}`];
  });
  return values.length > 0 && html`<p class="quiet">${values.slice(0, MAX_SUMMARY_FIELDS).join(' · ')}</p>`;
}

const empty = (caller: Caller): Html =>
  html`<section class="card empty"><h2>No pending approvals</h2>
<p>Requests that agents make with <code>ctx.approval</code> and <code>ctx.ask</code> appear here automatically.</p>
${hasRole(caller, OPERATE_ROLES) && html`<p class="actions"><a class="button" href="${PATHS.start}">Start a run</a><a class="button" href="${PATHS.runs}">View runs</a></p>`}</section>`;
