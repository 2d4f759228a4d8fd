import type { CheckpointSummary } from '../../checkpoints/engine.ts';
import { hasEnded } from '../../core/status.ts';
import type { Caller } from '../../http/caller.ts';
import { encodePathId } from '../../http/path-id.ts';
import type { RunView } from '../../operator/operator.ts';
import { breadcrumbs } from '../crumbs.ts';
import { fragment } from '../fragment.ts';
import { type Html, html } from '../markup.ts';
import { notice } from '../notice.ts';
import { page } from '../page.ts';
import { PATHS, queryString } from '../paths.ts';
import { statusLabel } from '../status-badge.ts';
import { DONE_MESSAGES } from './action-page.ts';
import { checkpointShowOptions } from './checkpoint-page.ts';
import { inputAndResult, runHead } from './run-head.ts';
import {
  addTotals,
  currentRow,
  legend,
  longestBusyMs,
  segment,
  spanRow,
  type TimelineSpans,
  type Totals,
  timelineChart,
  timelineTable,
  timelineTableClass,
  toTimelineSpans,
} from './timeline-chart.ts';

/** Checkpoints per page. */
export const PAGE_SIZE = 50;

/** What {@link runPage} shows. */
export interface RunPageView {
  readonly caller: Caller;
  readonly run: RunView;
  /** Consecutive, oldest first, plus the one before the page, at which the first span starts. */
  readonly checkpoints: readonly CheckpointSummary[];
  /** The action that was just performed. */
  readonly done?: string | undefined;
  readonly now: Date;
}

/** The page of a run: head, timeline, input, result, state, approvals and forks. */
export function runPage({ caller, run, checkpoints, done, now }: RunPageView): Html {
  const last = checkpoints.at(-1)?.version ?? 0;
  const isNewest = last >= run.version;
  const spans = toTimelineSpans(checkpoints, isNewest ? now : undefined);
  const first = spans.ended[0]?.checkpoint?.version ?? 1;
  const range = run.version <= PAGE_SIZE ? 'Total' : `Checkpoints ${first} to ${last}`;
  return page({
    title: run.run,
    caller,
    current: 'runs',
    live: isNewest && !hasEnded(run.status) ? liveUrl(run, spans.totals, first, longestBusyMs(spans)) : undefined,
    events: isNewest && !hasEnded(run.status) ? eventsUrl(run) : undefined,
    body: html`${breadcrumbs(html`<a href="${PATHS.runs}">Runs</a>`)}
${doneNotice(run, done)}
${runHead(run, caller, now)}
${LIVE_OUTPUT}
<section class="card sheet" aria-labelledby="timeline"><h2 id="timeline">Timeline</h2>
${timelineChart(run.run, spans, range)}
${timelineTable(run.run, spans, now)}
${pagination(run, first, last)}
</section>
${inputAndResult(run, checkpointShowOptions(run.run, run.version, 'results'))}
${lazySections(run)}`,
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
function lazySections({ run, version, status, isDurable }: RunView): Html {
  const part = (id: string, title: string, url: string, link: string, alone = '') =>
    html`<section class="card" id="${id}" aria-labelledby="${id}-title" data-key="${id}" data-rev="${status}" data-load="${url}${alone}"><h2 id="${id}-title">${title}</h2><p><a class="button" href="${url}">${link}</a></p></section>`;
  return html`${part('state', 'State', PATHS.checkpoint(run, version), 'Open the newest checkpoint', '?part=state-section')}
${isDurable && part('approvals', 'Approvals', PATHS.ofRun(run, 'approvals'), 'View approvals')}
${part('lineage', 'Forks', PATHS.ofRun(run, 'lineage'), 'View forks')}`;
}

/** What an open page already shows. */
export interface KnownState {
  readonly version: number;
  readonly status: string;
  readonly first: number;
  readonly totals: Totals;
  /** The longest busy span, in milliseconds, which sets the scale of the bars. */
  readonly longest: number;
}

/** The changes for an open page; the checkpoints start with the last one that it shows. */
export function runChanges({ caller, run, checkpoints, now }: RunPageView, known: KnownState): Html {
  const isUpToDate = (checkpoints.at(-1)?.version ?? 0) >= run.version;
  const spans = toTimelineSpans(checkpoints, isUpToDate ? now : undefined);
  const fresh = spans.ended.filter(({ checkpoint }) => (checkpoint?.version ?? 0) > known.version);
  const totals = addTotals(known.totals, spans.totals);
  const version = checkpoints.at(-1)?.version ?? known.version;
  const isLive = !hasEnded(run.status) || !isUpToDate;
  const { current } = spans;
  const longest = Math.max(known.longest, longestBusyMs(spans));
  return fragment(
    isLive ? liveUrl({ ...run, version }, totals, known.first, longest) : undefined,
    run.status === known.status ? '' : `Run status: ${statusLabel(run.status)}.`,
    html`${hasEnded(run.status) && html`<div data-key="cancelling" data-quiet data-rev="ended"></div>`}${runHead(run, caller, now)}
<ol data-list="strip">${fresh.map((span) => segment(run.run, span))}${currentSegment(run.run, current)}</ol>
${legend(totals, current, known.first === 1 ? 'Total' : `Checkpoints ${known.first} to ${version}`)}
<table class="${timelineTableClass(longest)}" data-scale><tbody data-list="timeline">${fresh.map((span) => spanRow(run.run, span, now))}</tbody><tbody>${currentRow(current)}</tbody></table>
${inputAndResult(run, checkpointShowOptions(run.run, run.version, 'results'))}
${lazySections(run)}`,
  );
}

/** The last segment of the chart: the current span. */
const currentSegment = (run: string, current: TimelineSpans['current']): Html =>
  current ? html`${segment(run, current)}` : html`<li data-key="segment:now" hidden></li>`;

const liveUrl = ({ run, version, status }: RunView, totals: Totals, first: number, longest: number): string =>
  `${PATHS.ofRun(run, 'changes')}${queryString({ version, status, first, longest, ...totals })}`;

/** Where the script shows what running steps stream. */
const LIVE_OUTPUT = html`<section class="card live-output" id="live-output" aria-labelledby="live-output-title" hidden><h2 id="live-output-title">Live output</h2><div></div></section>`;

const eventsUrl = ({ run, version }: RunView): string =>
  `/api/runs/${encodePathId(run)}/events${queryString({ after: version, output: 'true' })}`;

/** Links to older and newer checkpoints of a long run. */
function pagination({ run, version }: RunView, first: number, last: number): Html | false {
  if (first <= 1 && last >= version) return false;
  return html`<nav class="pages" aria-label="Pages of checkpoints">
${first > 1 && html`<a class="button" href="${PATHS.run(run)}${queryString({ to: first - 1 })}">Older</a>`}
${last < version && html`<a class="button" href="${PATHS.run(run)}${queryString({ to: Math.min(version, last + PAGE_SIZE) })}">Newer</a><a class="button" href="${PATHS.run(run)}">Newest</a>`}
<form method="get" class="line"><label for="to">Up to checkpoint</label><input id="to" name="to" type="number" min="1" max="${version}" value="${last}"><button>Show</button></form>
</nav>`;
}
