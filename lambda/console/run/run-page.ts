import type { CheckpointSummary } from '../../checkpoints/engine.ts';
import { hasEnded } from '../../core/status.ts';
import type { Caller } from '../../http/caller.ts';
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
  segment,
  spanRow,
  type TimelineSpans,
  type Totals,
  timelineChart,
  timelineTable,
  toTimelineSpans,
} from './timeline-chart.ts';

/** How many checkpoints a page has. */
export const PAGE_SIZE = 50;

export interface RunPageView {
  readonly caller: Caller;
  readonly run: RunView;
  /** Consecutive, oldest first; one more before the first where there is one, since a stretch begins with it. */
  readonly checkpoints: readonly CheckpointSummary[];
  /** What was just done to it. */
  readonly done?: string | undefined;
  readonly now: Date;
}

/** One run: its head, its time as a picture, what went in and out, what it remembers, where it comes from. */
export function runPage({ caller, run, checkpoints, done, now }: RunPageView): Html {
  const last = checkpoints.at(-1)?.version ?? 0;
  const isNewest = last >= run.version;
  const stretches = toTimelineSpans(checkpoints, isNewest ? now : undefined);
  const first = stretches.ended[0]?.checkpoint?.version ?? 1;
  const range = run.version <= PAGE_SIZE ? 'Altogether' : `From checkpoint ${first} to ${last}`;
  return page({
    title: run.run,
    caller,
    current: 'runs',
    live: isNewest && !hasEnded(run.status) ? liveUrl(run, stretches.totals, first) : undefined,
    body: html`${breadcrumbs(html`<a href="${PATHS.runs}">Runs</a>`)}
${justDone(run, done)}
${runHead(run, caller, now)}
<section class="card sheet" aria-labelledby="timeline"><h2 id="timeline">Timeline</h2>
${timelineChart(run.run, stretches, range)}
${timelineTable(run.run, stretches, now)}
${pages(run, first, last)}
</section>
${inputAndResult(run, checkpointShowOptions(run.run, run.version, 'results'))}
${parts(run)}`,
  });
}

/** What was just done to it; that it is being cancelled is said until it was. */
function justDone({ status }: RunView, done: string | undefined): Html | false {
  if (done === undefined || !Object.hasOwn(DONE_MESSAGES, done) || (done === 'cancel' && hasEnded(status)))
    return false;
  const said = notice('ok', DONE_MESSAGES[done as keyof typeof DONE_MESSAGES]);
  return done === 'cancel' ? html`<div data-key="cancelling" data-rev="said">${said}</div>` : said;
}

/** Parts that are pages of their own; the script brings them here, and anew when the status of the run changed. */
function parts({ run, version, status, isDurable }: RunView): Html {
  const part = (id: string, title: string, url: string, link: string, alone = '') =>
    html`<section class="card" id="${id}" aria-labelledby="${id}-title" data-key="${id}" data-rev="${status}" data-load="${url}${alone}"><h2 id="${id}-title">${title}</h2><p><a class="button" href="${url}">${link}</a></p></section>`;
  return html`${part('memory', 'What it remembers', PATHS.checkpoint(run, version), 'Open the newest checkpoint', '?part=memory')}
${isDurable && part('questions', 'Questions', PATHS.ofRun(run, 'questions'), 'What people were asked')}
${part('lineage', 'Forks', PATHS.ofRun(run, 'lineage'), 'Where it comes from, and what was forked from it')}`;
}

/** What a page that is open knows. */
export interface KnownState {
  readonly version: number;
  readonly status: string;
  readonly first: number;
  readonly totals: Totals;
}

/** What changed since, for a page that is open; the checkpoints begin with the last that it knows. */
export function runChanges({ caller, run, checkpoints, now }: RunPageView, known: KnownState): Html {
  const isUpToDate = (checkpoints.at(-1)?.version ?? 0) >= run.version;
  const stretches = toTimelineSpans(checkpoints, isUpToDate ? now : undefined);
  const fresh = stretches.ended.filter(({ checkpoint }) => (checkpoint?.version ?? 0) > known.version);
  const totals = addTotals(known.totals, stretches.totals);
  const version = checkpoints.at(-1)?.version ?? known.version;
  const goesOn = !hasEnded(run.status) || !isUpToDate;
  const { current } = stretches;
  return fragment(
    goesOn ? liveUrl({ ...run, version }, totals, known.first) : undefined,
    run.status === known.status ? '' : `The run is now: ${statusLabel(run.status)}.`,
    html`${hasEnded(run.status) && html`<div data-key="cancelling" data-quiet data-rev="over"></div>`}${runHead(run, caller, now)}
<ol data-list="strip">${fresh.map((stretch) => segment(run.run, stretch))}${nowSegment(run.run, current)}</ol>
${legend(totals, current, known.first === 1 ? 'Altogether' : `From checkpoint ${known.first} to ${version}`)}
<table><tbody data-list="timeline">${fresh.map((stretch) => spanRow(run.run, stretch, now))}</tbody><tbody>${currentRow(current)}</tbody></table>
${inputAndResult(run, checkpointShowOptions(run.run, run.version, 'results'))}
${parts(run)}`,
  );
}

/** What goes on comes last in the strip. */
const nowSegment = (run: string, current: TimelineSpans['current']): Html =>
  current ? html`${segment(run, current)}` : html`<li data-key="segment:now" hidden></li>`;

const liveUrl = ({ run, version, status }: RunView, totals: Totals, first: number): string =>
  `${PATHS.ofRun(run, 'changes')}${queryString({ version, status, first, ...totals })}`;

/** The ways to older and newer checkpoints of a long run. */
function pages({ run, version }: RunView, first: number, last: number): Html | false {
  if (first <= 1 && last >= version) return false;
  return html`<nav class="pages" aria-label="Pages of checkpoints">
${first > 1 && html`<a class="button" href="${PATHS.run(run)}${queryString({ to: first - 1 })}">Older</a>`}
${last < version && html`<a class="button" href="${PATHS.run(run)}${queryString({ to: Math.min(version, last + PAGE_SIZE) })}">Newer</a><a class="button" href="${PATHS.run(run)}">Newest</a>`}
<form method="get" class="line"><label for="to">Up to checkpoint</label><input id="to" name="to" type="number" min="1" max="${version}" value="${last}"><button>Show</button></form>
</nav>`;
}
