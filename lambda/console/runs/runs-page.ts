import type { RunSummary } from '../../checkpoints/engine.ts';
import { STATUSES } from '../../core/status.ts';
import type { Caller } from '../../http/caller.ts';
import { hasRole, OPERATE_ROLES } from '../../http/roles.ts';
import { describeRun } from '../../operator/describe-run.ts';
import type { RunCount, RunsPage, StatusCounts } from '../../operator/operator.ts';
import { fragment } from '../fragment.ts';
import { type Html, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { runStatusBadge, statusLabel } from '../status-badge.ts';
import { userText } from '../text.ts';
import { relativeTime } from '../time.ts';
import { filterForm } from './filter-form.ts';
import { isFiltered, type RunsForm } from './runs-query.ts';

/** What {@link runsPage} shows. */
export interface RunsView {
  readonly caller: Caller;
  readonly form: RunsForm;
  readonly found: RunsPage;
  /** Absent on later pages, which do not count. */
  readonly counts?: StatusCounts | undefined;
  readonly cursor?: string | undefined;
  /** The names of the known agents. */
  readonly agents: readonly string[];
  readonly now: Date;
}

/** The list of matching runs, most recently changed first. The first page updates live. */
export function runsPage(view: RunsView): Html {
  const { caller, form, found, counts, cursor, agents, now } = view;
  const isEmpty = found.runs.length === 0;
  const since = newestUpdatedAt(found.runs) ?? now.getTime();
  const live = cursor === undefined ? liveUrl(form, { since, counted: now.getTime(), isEmpty }) : undefined;
  return page({
    title: 'Runs',
    caller,
    current: 'runs',
    live,
    body: html`<header class="head"><div><h1>Runs</h1></div>${hasRole(caller, OPERATE_ROLES) && html`<p class="actions"><a class="button primary" href="${PATHS.start}">Start a run</a></p>`}</header>
${counts && statusTabs(form, counts)}
${filterForm(form, agents)}
${isEmpty ? html`<div data-key="found">${emptyList(view)}</div>` : runsTable(found.runs, now)}
${pagination(form, found, cursor)}`,
  });
}

/** The changes since a time, for an open page; undefined if nothing changed. */
export function runsChanges(
  form: RunsForm,
  runs: readonly RunSummary[],
  {
    since,
    counted,
    isEmpty,
    counts,
    now,
  }: KnownList & { readonly counts: StatusCounts | undefined; readonly now: Date },
): Html | undefined {
  if (runs.length === 0) return undefined;
  const matching = runs.filter(({ status }) => form.status === undefined || status === form.status);
  const live = liveUrl(form, {
    since: Math.max(since, newestUpdatedAt(runs) ?? 0),
    counted: counts ? now.getTime() : counted,
    isEmpty: isEmpty && matching.length === 0,
  });
  const changed = runs.filter(({ updatedAt }) => updatedAt.getTime() > since).length;
  const message = changed === 0 ? '' : changed === 1 ? 'One run changed.' : `${changed} runs changed.`;
  // Oldest first, since the script adds each new row at the top.
  const rows = runs.toReversed().map((run) => runRow(run, now, matching.includes(run)));
  const list = html`<table><tbody data-list="runs">${rows}</tbody></table>`;
  // A page without a list gets a whole new one.
  const first = matching.length > 0 && html`<div data-key="found">${runsTable(matching, now)}</div>`;
  return fragment(live, message, html`${counts && statusTabs(form, counts)}${isEmpty ? first : list}`);
}

/** What an open page shows: runs up to `since`, counts of the time `counted`, and whether the list is empty. */
interface KnownList {
  readonly since: number;
  readonly counted: number;
  readonly isEmpty: boolean;
}

const newestUpdatedAt = (runs: readonly RunSummary[]): number | undefined => runs[0]?.updatedAt.getTime();

const liveUrl = (form: RunsForm, { since, counted, isEmpty }: KnownList): string =>
  `${PATHS.changes}${queryString({ ...form, since, counted, empty: isEmpty ? 'true' : undefined })}`;

function statusTabs({ status, ...form }: RunsForm, counts: StatusCounts): Html {
  const shown = STATUSES.filter((each) => counts[each].count > 0 || each === status);
  const tab = (href: string, label: string, isCurrent: boolean, count?: RunCount) =>
    html`<li><a href="${href}"${isCurrent && html` aria-current="true"`}>${label}${count && html` <span class="amount">${formatCount(count)}</span>`}</a></li>`;
  return html`<ul class="tabs" aria-label="Filter by status" data-key="counts" data-quiet data-rev="${shown.map((each) => `${each}${counts[each].count}`).join()}">
${tab(`${PATHS.runs}${queryString(form)}`, 'All', status === undefined)}
${shown.map((each) => tab(`${PATHS.runs}${queryString({ ...form, status: each })}`, statusLabel(each), each === status, counts[each]))}
</ul>`;
}

/** A count, with `+` if counting stopped at its limit. */
const formatCount = ({ count, hasMore }: RunCount): string => `${count.toLocaleString('en')}${hasMore ? '+' : ''}`;

const runsTable = (
  runs: readonly RunSummary[],
  now: Date,
): Html => html`<div class="card sheet"><table class="list runs" role="table">
<caption class="unseen">Runs, most recently changed first</caption>
<thead role="rowgroup"><tr role="row">${['Run', 'Status', 'Agent', 'Owner', 'Tags', 'Last change', 'Started'].map((name) => html`<th role="columnheader" scope="col">${name}</th>`)}</tr></thead>
<tbody role="rowgroup" data-list="runs" data-new="first">${runs.map((run) => runRow(run, now, true))}</tbody>
</table></div>`;

/** The row of a run. A run that no longer matches only updates a row that is already shown. */
function runRow(run: RunSummary, now: Date, isMatching: boolean): Html {
  const { status, agent, owner, tags, createdAt, updatedAt } = run;
  const line = describeRun(run);
  const cell = (label: string, content: Html | false) =>
    html`<td role="cell" data-label="${label}"${!content && html` class="bare"`}>${content}</td>`;
  return html`<tr role="row" data-key="run:${run.run}" data-rev="${status} ${updatedAt.getTime()}"${!isMatching && html` data-known`}>
<th role="rowheader" scope="row"><a class="id" href="${PATHS.run(run.run)}">${userText(run.run)}</a></th>
<td role="cell">${runStatusBadge(run)}${line !== '' && html` <span class="quiet outcome">${userText(line)}</span>`}</td>
${cell('Agent', agent !== undefined && userText(agent))}
${cell('Owner', owner !== undefined && userText(owner))}
${cell('Tags', tags.length > 0 && html`${tags.map((tag) => html`<a class="tag" href="${PATHS.runs}${queryString({ tag })}">${userText(tag)}</a> `)}`)}
${cell('Last change', relativeTime(updatedAt, now))}
${cell('Started', relativeTime(createdAt, now))}
</tr>`;
}

function emptyList({ form, caller, cursor, found }: RunsView): Html {
  if (found.cursor !== undefined)
    return html`<section class="card empty"><h2>No matches yet</h2><p>None of the most recent runs match. Select Older to search further back.</p></section>`;
  if (isFiltered(form) || cursor !== undefined)
    return html`<section class="card empty"><h2>No matching runs</h2><p>The list can be a moment behind. Remove a filter, or try again.</p><p class="actions"><a class="button" href="${PATHS.runs}">All runs</a></p></section>`;
  return html`<section class="card empty"><h2>No runs yet</h2><p>A run is one execution of an agent. Start one here, with <code>waitstate start</code>, or with <code>agent.start()</code>.</p>${hasRole(caller, OPERATE_ROLES) && html`<p class="actions"><a class="button primary" href="${PATHS.start}">Start a run</a></p>`}</section>`;
}

function pagination(form: RunsForm, { cursor: next }: RunsPage, cursor: string | undefined): Html | false {
  if (next === undefined && cursor === undefined) return false;
  return html`<nav class="pages" aria-label="Pages">${cursor !== undefined && html`<a class="button" href="${PATHS.runs}${queryString({ ...form })}">Newest</a>`}${
    next !== undefined &&
    html`<a class="button" rel="next" href="${PATHS.runs}${queryString({ ...form, cursor: next })}">Older</a>`
  }</nav>`;
}
