import type { CheckpointSummary } from '../../checkpoints/engine.ts';
import { buildTimeline, type Span, type SpanKind, type Timeline } from '../../operator/timeline.ts';
import { writeCost } from '../../operator/write-cost.ts';
import { formatBytes } from '../document/format-bytes.ts';
import { pluralize } from '../document/show-options.ts';
import { formatDuration } from '../format-time.ts';
import { type Html, html } from '../markup.ts';
import { PATHS } from '../paths.ts';
import { plainText, userText } from '../text.ts';
import { elapsedTime, relativeTime } from '../time.ts';

/** What the kinds of stretches are called. */
const KINDS: Readonly<Record<SpanKind, string>> = {
  step: 'working',
  waiting: 'waiting',
  queued: 'queued',
  failure: 'failed attempts',
  crash: 'lost to crashes',
  change: 'changed from outside',
};

const ORDER = Object.keys(KINDS) as readonly SpanKind[];

/** How long each kind of stretch took, in milliseconds; a page that is open carries it along. */
export type Totals = Timeline['totals'];

const NONE: Totals = { step: 0, waiting: 0, queued: 0, failure: 0, crash: 0, change: 0 };

/** Both together. */
export const addTotals = (a: Totals, b: Totals): Totals =>
  Object.fromEntries(ORDER.map((kind) => [kind, a[kind] + b[kind]])) as Totals;

/** The stretches that checkpoints end, and the one that goes on. */
export interface TimelineSpans {
  readonly ended: readonly Span[];
  readonly current: Span | undefined;
  /** Of those that have ended. */
  readonly totals: Totals;
}

/** The stretches of consecutive checkpoints; the first of them is only where they begin, unless it begins the run. */
export function toTimelineSpans(checkpoints: readonly CheckpointSummary[], now: Date | undefined): TimelineSpans {
  const { spans: stretches } = buildTimeline(checkpoints, now);
  const ended = stretches.filter(({ checkpoint }) => checkpoint !== undefined);
  const totals = buildTimeline(checkpoints).totals;
  return { ended, current: stretches.find(({ checkpoint }) => checkpoint === undefined), totals };
}

/** A picture of a run's time: the stretches in their order, and where the time went. */
export function timelineChart(run: string, { ended, current, totals }: TimelineSpans, range: string): Html {
  return html`<div class="strip-box">
<ol class="strip" data-list="strip" aria-label="The stretches of time of the run, in their order">${ended.map((stretch) => segment(run, stretch))}${current && segment(run, current)}</ol>
${legend(totals, current, range)}
<p class="hint">The thin line is true to scale. The other bars grow by the logarithm, so that a wait of days leaves room for steps.</p>
</div>`;
}

/** One stretch in the strip; wider ones took longer, by the logarithm. */
export function segment(run: string, stretch: Span): Html {
  const { kind, label, checkpoint } = stretch;
  const title = `${plainText(label)}: ${KINDS[kind]}, ${formatDuration(took(stretch))}`;
  const href = checkpoint ? PATHS.checkpoint(run, checkpoint.version) : '#now';
  return html`<li class="${kind} g${weight(stretch)}" data-key="segment:${checkpoint?.version ?? 'now'}" data-quiet${!checkpoint && html` data-last`}><a href="${href}" title="${title}" aria-label="${title}"></a></li>`;
}

/** Where the time went: each kind with what it took, and a bar that is true to scale. */
export function legend(ended: Totals, current: Span | undefined, range: string): Html {
  const totals = current ? addTotals(ended, { ...NONE, [current.kind]: took(current) }) : ended;
  const all = together(totals);
  // What goes on is counted on by the script.
  const length = (before: number, goesOn: boolean) =>
    current && goesOn ? elapsedTime(current.from, current.to, before) : formatDuration(before);
  let x = 0;
  const rects = ORDER.map((kind) => {
    const width = all === 0 ? 0 : (totals[kind] / all) * 1000;
    x += width;
    return (
      width > 0 && html`<rect class="${kind}" x="${(x - width).toFixed(1)}" width="${width.toFixed(1)}" height="8"/>`
    );
  });
  const items = ORDER.filter((kind) => totals[kind] > 0).map(
    (kind) =>
      html`<li><span class="swatch ${kind}"></span>${KINDS[kind]} <span class="quiet">${length(ended[kind], kind === current?.kind)}</span></li>`,
  );
  return html`<div data-key="legend" data-quiet><svg class="share" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">${rects}</svg>
<ul class="legend"><li class="quiet"><span>${range}, ${length(together(ended), true)}:</span></li>${items}</ul></div>`;
}

const together = (totals: Totals): number => ORDER.reduce((total, kind) => total + totals[kind], 0);

const took = ({ from, to }: Span): number => to.getTime() - from.getTime();

const MOST_WEIGHT = 24;

/** From 1 for a millisecond to 24 for a month, by the logarithm: a wait of days leaves room for steps. */
function weight(stretch: Span): number {
  const scale = Math.log10(Math.max(1, took(stretch))) / 9.4;
  return Math.max(1, Math.min(MOST_WEIGHT, Math.round(scale * MOST_WEIGHT)));
}

/** The rows of the timeline, oldest first; the last is what goes on. */
export function timelineTable(run: string, { ended, current }: TimelineSpans, now: Date): Html {
  const columns = [
    ['Version', 'number'],
    ['What', ''],
    ['How long', ''],
    ['Took', 'number'],
    ['Ended', ''],
    ['Size', 'number'],
  ];
  return html`<table class="list timeline" role="table"><caption class="unseen">Checkpoints, oldest first</caption>
<thead role="rowgroup"><tr role="row">${columns.map(([name, kind]) => html`<th role="columnheader" scope="col"${kind && html` class="${kind}"`}>${name}</th>`)}</tr></thead>
<tbody role="rowgroup" data-list="timeline">${ended.map((stretch) => spanRow(run, stretch, now))}</tbody>
<tbody role="rowgroup">${currentRow(current)}</tbody></table>`;
}

export function spanRow(run: string, stretch: Span, now: Date): Html {
  const { kind, label, checkpoint } = stretch;
  if (!checkpoint) return html``;
  const { version, name, bytes, savedAt, pruned, step } = checkpoint;
  const { writeUnits, puts } = writeCost(checkpoint);
  const cost = `about ${pluralize(writeUnits, 'write unit')}${puts > 0 ? ` and ${pluralize(puts, 'put')}` : ''}`;
  return html`<tr role="row" id="v${version}" data-key="version:${version}">
<td role="cell" class="number version" data-label="Version">${version}</td>
<th role="rowheader" scope="row"><a href="${PATHS.checkpoint(run, version)}">${userText(label)}</a>${kind !== 'step' && version > 1 && html` <span class="tag">${KINDS[kind]}</span>`}${kind === 'failure' && step !== undefined && step !== label && html` <span class="quiet">${userText(step)}</span>`}${name !== undefined && html` <span class="tag">${userText(name)}</span>`}${pruned && html` <span class="tag">pruned</span>`}</th>
<td role="cell" class="picture-cell">${bar(stretch)}</td>
<td role="cell" class="number nowrap" data-label="Took">${formatDuration(took(stretch))}</td>
<td role="cell" class="nowrap" data-label="Ended">${relativeTime(savedAt, now)}</td>
<td role="cell" class="number nowrap" data-label="Size" title="${cost}">${formatBytes(bytes)}</td>
</tr>`;
}

/** What goes on; nothing when the run has ended. */
export function currentRow(stretch: Span | undefined): Html {
  if (!stretch) return html`<tr data-key="now" hidden></tr>`;
  return html`<tr role="row" id="now" data-key="now" data-quiet>
<td role="cell" class="number bare"></td>
<th role="rowheader" scope="row">${userText(stretch.label)} <span class="tag">now</span></th>
<td role="cell" class="picture-cell">${bar(stretch)}</td>
<td role="cell" class="number nowrap" data-label="So far">${elapsedTime(stretch.from, stretch.to)}</td>
<td role="cell" class="bare"></td><td role="cell" class="bare"></td>
</tr>`;
}

function bar(stretch: Span): Html {
  const wide = weight(stretch);
  return html`<span class="track" aria-hidden="true"><span class="${stretch.kind} g${wide}"></span><i class="g${MOST_WEIGHT - wide}"></i></span>`;
}
