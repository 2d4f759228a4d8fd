import { groupByKind } from '../../core/approval-kind.ts';
import type { Caller } from '../../http/caller.ts';
import { hasRole, OPERATE_ROLES } from '../../http/roles.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { MAX_DECIDED_TOGETHER } from '../../runtime/approvals/decide-all.ts';
import { pluralize } from '../document/show-options.ts';
import { fragment } from '../fragment.ts';
import { type Html, html } from '../markup.ts';
import { type ProblemSummary, problemNotice } from '../notice.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { userText } from '../text.ts';
import { findDeciders } from './deciders.ts';
import { inboxItem } from './inbox-item.ts';
import { kindName } from './together/kind-name.ts';
import { toListValue } from './together/selection.ts';
import { isQuestion } from './words.ts';

/** The inbox of one person, or of everybody. */
export interface InboxView {
  readonly caller: Caller;
  /** Absent for the inbox of everybody. */
  readonly person?: string | undefined;
  readonly groups: readonly string[];
  readonly approvals: readonly ApprovalDocument[];
  readonly problem?: ProblemSummary | undefined;
  /** The page shows requests up to this time. */
  readonly since: Date;
  readonly now: Date;
}

/** The query value for the inbox of everybody. */
export const EVERYBODY = 'everybody';

/** Pending approvals, oldest first, with their waiting time and deadline. */
export function inboxPage(view: InboxView): Html {
  const { caller, person, problem } = view;
  return page({
    title: 'Inbox',
    caller,
    current: 'inbox',
    live: liveUrl(view),
    body: html`<header class="head"><div>
<h1>Inbox</h1>
<p class="lead">${person === undefined ? 'All pending requests' : html`Pending requests for ${userText(person)}`}, oldest first</p>
</div><p class="actions"><a class="button" href="${PATHS.away}${queryString({ as: caller.decidesForOthers ? person : undefined })}">Away</a></p></header>
${problem && problemNotice(problem)}
${views(view)}
${caller.decidesForOthers && chooser(view)}
${list(view)}`,
  });
}

/** The list alone, to update an open page. */
export const inboxChanges = (view: InboxView): Html =>
  fragment(liveUrl(view), `Pending requests: ${view.approvals.length}.`, list(view));

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

function list(view: InboxView): Html {
  const { approvals, caller } = view;
  const votes = approvals.reduce((sum, approval) => sum + approval.votes.length, 0);
  const rev = `${approvals.length} ${approvals.at(-1)?.requestedAt.getTime()} ${votes}`;
  return html`<div class="stacked" data-key="inbox" data-quiet data-rev="${rev}">${
    approvals.length === 0 ? empty(caller) : groupByKind(approvals).map((alike) => kindList(view, alike))
  }</div>`;
}

/** Inboxes say for whom their owner answers. */
const delegated = ({ for: away }: ApprovalDocument, delegate: string | undefined) =>
  away === undefined || delegate === undefined ? [] : [{ person: away, delegate }];

/** The requests of one kind. If several can be decided, they can be selected and decided together. */
function kindList({ caller, person, now }: InboxView, alike: readonly ApprovalDocument[]): Html {
  const as = caller.decidesForOthers ? person : undefined;
  // The answer to a question is about this question alone.
  const selectable = alike.filter(
    (approval) =>
      !isQuestion(approval) && findDeciders(caller, approval, person ?? caller.person, delegated(approval, person)),
  );
  const [first] = alike;
  if (!first || selectable.length < 2)
    return html`<ul class="inbox card sheet">${alike.map((approval) => inboxItem({ approval, alike: [approval], as, now }))}</ul>`;
  const items = alike.map((approval) => {
    const box = selectable.indexOf(approval);
    return inboxItem({ approval, alike, as, box: box < 0 ? undefined : box, now });
  });
  const all = selectable.slice(0, MAX_DECIDED_TOGETHER);
  const count = all.length < selectable.length ? `the first ${all.length}` : `all ${all.length}`;
  return html`<form class="card sheet" method="post" action="${PATHS.decideTogether}">
<h2>${kindName(first)} <span class="quiet">${pluralize(alike.length, 'request')}</span></h2>
${as !== undefined && html`<input type="hidden" name="as" value="${as}">`}
<ul class="inbox">${items}</ul>
<div class="actions kind-actions"><button data-counted="Decide # selected">Decide selected</button><button name="list" value="${toListValue(all.map(({ run, id }) => ({ run, approval: id })))}">Decide ${count}</button></div>
</form>`;
}

const empty = (caller: Caller): Html =>
  html`<section class="card empty"><h2>No pending requests</h2>
<p>Requests that agents make with <code>ctx.approval</code> and <code>ctx.ask</code> appear here automatically.</p>
${hasRole(caller, OPERATE_ROLES) && html`<p class="actions"><a class="button" href="${PATHS.start}">Start a run</a><a class="button" href="${PATHS.runs}">View runs</a></p>`}</section>`;
