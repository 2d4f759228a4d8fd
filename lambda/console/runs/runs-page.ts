import type { RunSummary } from '../../checkpoints/engine.ts';
import { STATUSES } from '../../core/status.ts';
import type { Caller } from '../../http/caller.ts';
import { hasRole, OPERATE_ROLES } from '../../http/roles.ts';
import type { RunCount, RunsPage, StatusCounts } from '../../operator/operator.ts';
import { fragment } from '../fragment.ts';
import { type Html, html } from '../markup.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { statusBadge, statusLabel } from '../status-badge.ts';
import { userText } from '../text.ts';
import { relativeTime } from '../time.ts';
import { filterForm } from './filter-form.ts';
import { isFiltered, type RunsForm } from './runs-query.ts';

export interface RunsView {
  readonly caller: Caller;
  readonly form: RunsForm;
  readonly found: RunsPage;
  /** Absent where nothing is counted: on later pages. */
  readonly counts?: StatusCounts | undefined;
  readonly cursor?: string | undefined;
  /** The names of agents, where they are known. */
  readonly agents: readonly string[];
  readonly now: Date;
}

/** The runs that fit, last touched first. The first page keeps itself fresh. */
export function runsPage(view: RunsView): Html {
  const { caller, form, found, counts, cursor, agents, now } = view;
  const isEmpty = found.runs.length === 0;
  const since = newest(found.runs) ?? now.getTime();
  const live = cursor === undefined ? liveUrl(form, { since, counted: now.getTime(), isEmpty }) : undefined;
  return page({
    title: 'Runs',
    caller,
    current: 'runs',
    live,
    body: html`<header class="head"><div><h1>Runs</h1></div>${hasRole(caller, OPERATE_ROLES) && html`<p class="actions"><a class="button primary" href="${PATHS.start}">Start a run</a></p>`}</header>
${counts && tabs(form, counts)}
${filterForm(form, agents)}
${isEmpty ? html`<div data-key="found">${none(view)}</div>` : table(found.runs, now)}
${pages(form, found, cursor)}`,
  });
}

/** What changed since a moment, for a page that is open; undefined when nothing did. */
export function runsChanges(
  form: RunsForm,
  runs: readonly RunSummary[],
  { since, counted, isEmpty, counts, now }: Known & { readonly counts: StatusCounts | undefined; readonly now: Date },
): Html | undefined {
  if (runs.length === 0) return undefined;
  const fitting = runs.filter(({ status }) => form.status === undefined || status === form.status);
  const live = liveUrl(form, {
    since: Math.max(since, newest(runs) ?? 0),
    counted: counts ? now.getTime() : counted,
    isEmpty: isEmpty && fitting.length === 0,
  });
  const changed = runs.filter(({ touchedAt }) => touchedAt.getTime() > since).length;
  const said = changed === 0 ? '' : changed === 1 ? 'One run changed.' : `${changed} runs changed.`;
  // Oldest first: each new one goes on top.
  const rows = runs.toReversed().map((run) => row(run, now, fitting.includes(run)));
  const list = html`<table><tbody data-list="runs">${rows}</tbody></table>`;
  // Where there was no list, it is new as a whole.
  const first = fitting.length > 0 && html`<div data-key="found">${table(fitting, now)}</div>`;
  return fragment(live, said, html`${counts && tabs(form, counts)}${isEmpty ? first : list}`);
}

/** What a page that is open knows: until when, when it counted, and whether it has no list. */
interface Known {
  readonly since: number;
  readonly counted: number;
  readonly isEmpty: boolean;
}

const newest = (runs: readonly RunSummary[]): number | undefined => runs[0]?.touchedAt.getTime();

const liveUrl = (form: RunsForm, { since, counted, isEmpty }: Known): string =>
  `${PATHS.changes}${queryString({ ...form, since, counted, empty: isEmpty ? 'true' : undefined })}`;

function tabs({ status, ...form }: RunsForm, counts: StatusCounts): Html {
  const shown = STATUSES.filter((each) => counts[each].count > 0 || each === status);
  const tab = (href: string, label: string, isCurrent: boolean, count?: RunCount) =>
    html`<li><a href="${href}"${isCurrent && html` aria-current="true"`}>${label}${count && html` <span class="amount">${amount(count)}</span>`}</a></li>`;
  return html`<ul class="tabs" aria-label="By status" data-key="counts" data-quiet data-rev="${shown.map((each) => `${each}${counts[each].count}`).join()}">
${tab(`${PATHS.runs}${queryString(form)}`, 'All', status === undefined)}
${shown.map((each) => tab(`${PATHS.runs}${queryString({ ...form, status: each })}`, statusLabel(each), each === status, counts[each]))}
</ul>`;
}

/** Counting stops at a thousand. */
const amount = ({ count, isMore }: RunCount): string => `${count.toLocaleString('en')}${isMore ? '+' : ''}`;

const table = (
  runs: readonly RunSummary[],
  now: Date,
): Html => html`<div class="card sheet"><table class="list" role="table">
<caption class="unseen">Runs, last touched first</caption>
<thead role="rowgroup"><tr role="row">${['Run', 'Status', 'Agent', 'Owner', 'Tags', 'Last change', 'Started'].map((name) => html`<th role="columnheader" scope="col">${name}</th>`)}</tr></thead>
<tbody role="rowgroup" data-list="runs" data-new="first">${runs.map((run) => row(run, now, true))}</tbody>
</table></div>`;

/** A run that no longer fits the form is only shown where it was before. */
function row(run: RunSummary, now: Date, isFitting: boolean): Html {
  const { status, agent, owner, tags, statusChange, createdAt, touchedAt } = run;
  const cell = (label: string, content: Html | false) =>
    html`<td role="cell" data-label="${label}"${!content && html` class="bare"`}>${content}</td>`;
  return html`<tr role="row" data-key="run:${run.run}" data-rev="${status} ${touchedAt.getTime()}"${!isFitting && html` data-known`}>
<th role="rowheader" scope="row"><a class="id" href="${PATHS.run(run.run)}">${userText(run.run)}</a></th>
<td role="cell">${statusBadge(status)}${statusChange.step !== undefined && html` <span class="quiet">${userText(statusChange.step)}</span>`}</td>
${cell('Agent', agent !== undefined && userText(agent))}
${cell('Owner', owner !== undefined && userText(owner))}
${cell('Tags', tags.length > 0 && html`${tags.map((tag) => html`<span class="tag">${userText(tag)}</span> `)}`)}
${cell('Last change', relativeTime(touchedAt, now))}
${cell('Started', relativeTime(createdAt, now))}
</tr>`;
}

function none({ form, caller, cursor, found }: RunsView): Html {
  if (found.cursor !== undefined)
    return html`<section class="card empty"><h2>None of those that were looked through</h2><p>Few runs fit. Look on to find them among older ones.</p></section>`;
  if (isFiltered(form) || cursor !== undefined)
    return html`<section class="card empty"><h2>No run fits</h2><p>Lists may be a moment behind. Take a condition away, or look again.</p><p class="actions"><a class="button" href="${PATHS.runs}">All runs</a></p></section>`;
  return html`<section class="card empty"><h2>There are no runs yet</h2><p>A run is one execution of an agent. Start one here, with <code>waitstate start</code>, or with <code>agent.start()</code>.</p>${hasRole(caller, OPERATE_ROLES) && html`<p class="actions"><a class="button primary" href="${PATHS.start}">Start a run</a></p>`}</section>`;
}

function pages(form: RunsForm, { cursor: next }: RunsPage, cursor: string | undefined): Html | false {
  if (next === undefined && cursor === undefined) return false;
  return html`<nav class="pages" aria-label="Pages">${cursor !== undefined && html`<a class="button" href="${PATHS.runs}${queryString({ ...form })}">Newest</a>`}${
    next !== undefined &&
    html`<a class="button" rel="next" href="${PATHS.runs}${queryString({ ...form, cursor: next })}">Older</a>`
  }</nav>`;
}
