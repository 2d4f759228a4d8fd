import { hasEnded } from '../../core/status.ts';
import type { Caller } from '../../http/caller.ts';
import { encodePathId } from '../../http/path-id.ts';
import type { RunView } from '../../operator/operator.ts';
import type { TimelinePage } from '../../operator/timeline-page.ts';
import { breadcrumbs, runBreadcrumbs } from '../crumbs.ts';
import { formatBytes } from '../document/format-bytes.ts';
import { pluralize } from '../document/show-options.ts';
import { fragment } from '../fragment.ts';
import { type Html, html } from '../markup.ts';
import { notice } from '../notice.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { runStatusLabel } from '../status-badge.ts';
import { plainText, userText } from '../text.ts';
import { DONE_MESSAGES } from './action-page.ts';
import { checkpointShowOptions } from './checkpoint-page.ts';
import { inputAndResult, runHead, runNotices } from './run-head.ts';
import { legend, timelineSection } from './timeline-section.ts';
import { timelineStrip } from './timeline-strip.ts';
import { currentRows, endedRows, longestBusyMs, timelineTableClass } from './timeline-table.ts';

/** What {@link runPage} shows. */
export interface RunPageView {
  readonly caller: Caller;
  readonly run: RunView;
  /** The names of the known agents. */
  readonly agents: readonly string[];
  readonly timeline: TimelinePage;
  /** The text that the timeline was searched for. */
  readonly find?: string | undefined;
  /** The action that was just performed. */
  readonly done?: string | undefined;
  readonly now: Date;
}

/** The page of a run: head, timeline, input, result, state, approvals and forks. */
export function runPage({ caller, run, agents, timeline, find, done, now }: RunPageView): Html {
  const isLive = find === undefined && timeline.last >= run.version && !hasEnded(run.status);
  return page({
    title: run.run,
    caller,
    current: 'runs',
    live: isLive ? liveUrl(run, longestBusyMs(timeline.spans)) : undefined,
    events: isLive ? eventsUrl(run) : undefined,
    body: html`${breadcrumbs(html`<a href="${PATHS.runs}">Runs</a>`)}
${doneNotice(run, done)}
${runHead(run, caller, agents, now)}
${LIVE_OUTPUT}
${timelineSection(run, timeline, find, now)}
${content(run)}
${lazySections(run)}`,
  });
}

/** Input, result and child runs; of a run with a large state, a link to them. */
function content(run: RunView): Html {
  const { leftOutBytes } = run;
  if (leftOutBytes === undefined)
    return html`${inputAndResult(run, checkpointShowOptions(run.run, run.version, 'results'))}
${childRuns(run)}`;
  const url = PATHS.ofRun(run.run, 'content');
  return html`<section class="card" id="content" aria-labelledby="content-title" data-key="content" data-quiet data-rev="${run.status}"><h2 id="content-title">Input and result</h2><p>This run carries ${formatBytes(leftOutBytes)} of state and results, so this page does not load them.</p><p><a class="button" href="${url}">View input and result</a></p></section>`;
}

/** The content of a run with a large state: what it waits for, its error, input, result and child runs. */
export function contentPage(caller: Caller, run: RunView, now: Date): Html {
  return page({
    title: `Input and result of ${plainText(run.run)}`,
    caller,
    current: 'runs',
    body: html`${runBreadcrumbs(run.run)}
<h1>Input and result</h1>
<section class="stacked" id="content" aria-label="Input and result">${runNotices(run, now)}
${inputAndResult(run, checkpointShowOptions(run.run, run.version, 'results'))}
${childRuns(run)}</section>`,
  });
}

/** The confirmation of an action; that of a cancellation stays until the run has ended. */
function doneNotice({ status }: RunView, done: string | undefined): Html | false {
  if (done === undefined || !Object.hasOwn(DONE_MESSAGES, done) || (done === 'cancel' && hasEnded(status)))
    return false;
  const message = notice('ok', DONE_MESSAGES[done as keyof typeof DONE_MESSAGES]);
  return done === 'cancel' ? html`<div data-key="cancelling" data-rev="shown">${message}</div>` : message;
}

/** Sections with their own pages. The script loads them into this page, and again when the status changes. */
function lazySections({ run, version, status, isDurable, leftOutBytes }: RunView): Html {
  const part = (id: string, title: string, url: string, link: string, alone = '') =>
    html`<section class="card" id="${id}" aria-labelledby="${id}-title" data-key="${id}" data-rev="${status}"${(id !== 'state' || leftOutBytes === undefined) && html` data-load="${url}${alone}"`}><h2 id="${id}-title">${title}</h2><p><a class="button" href="${url}">${link}</a></p></section>`;
  return html`${part('state', 'State', PATHS.checkpoint(run, version), 'Open the newest checkpoint', '?part=state-section')}
${isDurable && part('approvals', 'Approvals', PATHS.ofRun(run, 'approvals'), 'View approvals')}
${part('lineage', 'Forks', PATHS.ofRun(run, 'lineage'), 'View forks')}`;
}

const MAX_CHILDREN = 100;

/** The runs that the run called, with links. */
function childRuns({ children }: RunView): Html {
  const item = ({ name, run, status }: RunView['children'][number]) =>
    html`<li class="line"><a class="id" href="${PATHS.run(run)}">${userText(run)}</a> <span class="quiet">${userText(name)}</span> <span class="tag">${status}</span></li>`;
  const rest = children.length - MAX_CHILDREN;
  const rev = children.map(({ status }) => status).join();
  return html`<div data-key="children" data-quiet data-rev="${rev}">${
    children.length > 0 &&
    html`<section class="card" aria-labelledby="children"><h2 id="children">Child runs</h2><ul class="votes">${children.slice(0, MAX_CHILDREN).map(item)}</ul>${rest > 0 && html`<p class="quiet">and ${pluralize(rest, 'more')}</p>`}</section>`
  }</div>`;
}

/** What an open page already shows. */
export interface KnownState {
  readonly version: number;
  readonly status: string;
  /** The longest busy span, in milliseconds, which sets the scale of the bars. */
  readonly longest: number;
}

/** The changes for an open page: new rows of the table, and the picture and the totals as they are now. */
export function runChanges({ caller, run, agents, timeline, now }: RunPageView, known: KnownState): Html {
  const isUpToDate = timeline.last >= run.version;
  const fresh = timeline.spans.filter(({ checkpoint }) => (checkpoint?.version ?? 0) > known.version);
  const isLive = !hasEnded(run.status) || !isUpToDate;
  const longest = Math.max(known.longest, longestBusyMs(timeline.spans));
  return fragment(
    isLive ? liveUrl({ ...run, version: timeline.last }, longest) : undefined,
    run.status === known.status ? '' : `Run status: ${runStatusLabel(run)}.`,
    html`${hasEnded(run.status) && html`<div data-key="cancelling" data-quiet data-rev="ended"></div>`}${runHead(run, caller, agents, now)}
${timelineStrip(run.run, timeline)}
${legend(timeline)}
<table class="${timelineTableClass(longest)}" data-scale><tbody data-list="timeline">${endedRows(fresh, { run: run.run, children: run.children, now })}</tbody><tbody>${currentRows(timeline.spans)}</tbody></table>
${content(run)}
${lazySections(run)}`,
  );
}

const liveUrl = ({ run, version, status }: RunView, longest: number): string =>
  `${PATHS.ofRun(run, 'changes')}${queryString({ version, status, longest })}`;

/** Where the script shows what running steps stream. */
const LIVE_OUTPUT = html`<section class="card live-output" id="live-output" aria-labelledby="live-output-title" hidden><h2 id="live-output-title">Live output</h2><div></div></section>`;

const eventsUrl = ({ run, version }: RunView): string =>
  `/api/runs/${encodePathId(run)}/events${queryString({ after: version, output: 'true' })}`;
