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
import { durationClass } from './duration-class.ts';

/** The labels of span kinds. */
const KIND_LABELS: Readonly<Record<SpanKind, string>> = {
  step: 'working',
  waiting: 'waiting',
  queued: 'queued',
  failure: 'failed attempts',
  crash: 'lost to crashes',
  change: 'external changes',
};

const KIND_ORDER = Object.keys(KIND_LABELS) as readonly SpanKind[];

/** Milliseconds by span kind. An open page passes them along when it polls. */
export type Totals = Timeline['totals'];

const ZERO_TOTALS: Totals = { step: 0, waiting: 0, queued: 0, failure: 0, crash: 0, change: 0 };

/** The sum of two totals. */
export const addTotals = (a: Totals, b: Totals): Totals =>
  Object.fromEntries(KIND_ORDER.map((kind) => [kind, a[kind] + b[kind]])) as Totals;

/** The spans that checkpoints ended, and the current one. */
export interface TimelineSpans {
  readonly ended: readonly Span[];
  readonly current: Span | undefined;
  /** The totals of the ended spans. */
  readonly totals: Totals;
}

/** The spans of consecutive checkpoints. The first checkpoint only marks a start, unless it is the first of the run. */
export function toTimelineSpans(checkpoints: readonly CheckpointSummary[], now: Date | undefined): TimelineSpans {
  const { spans } = buildTimeline(checkpoints, now);
  const ended = spans.filter(({ checkpoint }) => checkpoint !== undefined);
  const totals = buildTimeline(checkpoints).totals;
  return { ended, current: spans.find(({ checkpoint }) => checkpoint === undefined), totals };
}

/** The chart of a run's time: its spans in order, and the total time of each kind. */
export function timelineChart(run: string, { ended, current, totals }: TimelineSpans, range: string): Html {
  return html`<div class="strip-box">
<ol class="strip" data-list="strip" aria-label="Timeline of the run">${ended.map((span) => segment(run, span))}${current && segment(run, current)}</ol>
${legend(totals, current, range)}
</div>`;
}

/** A span in the chart, drawn to scale. The style sheet folds a wait that would take too much room, and shows its length. */
export function segment(run: string, span: Span): Html {
  const { kind, label, checkpoint } = span;
  const length = formatDuration(durationMs(span));
  const title = `${plainText(label)}: ${KIND_LABELS[kind]}, ${length}`;
  const classes = `${kind} ${durationClass(durationMs(span))}`;
  if (checkpoint)
    return html`<li class="${classes}" data-key="segment:${checkpoint.version}" data-quiet><a href="${PATHS.checkpoint(run, checkpoint.version)}" title="${title}" aria-label="${title}">${isIdle(span) && html`<span>${length}</span>`}</a></li>`;
  // The time keeps counting, so a fixed `aria-label` would soon differ from it.
  return html`<li class="${classes}" data-key="segment:now" data-quiet data-last><a href="#now" title="${title}"><i class="unseen">${userText(label)}</i>${isIdle(span) && html`<span>${elapsedTime(span.from, span.to)}</span>`}</a></li>`;
}

/** The total time of each kind, as a list and as a bar. */
export function legend(ended: Totals, current: Span | undefined, range: string): Html {
  const totals = current ? addTotals(ended, { ...ZERO_TOTALS, [current.kind]: durationMs(current) }) : ended;
  const all = totalMs(totals);
  // The script keeps the time of the current span counting.
  const length = (before: number, isCounting: boolean) =>
    current && isCounting ? elapsedTime(current.from, current.to, before) : formatDuration(before);
  let x = 0;
  const rects = KIND_ORDER.map((kind) => {
    const width = all === 0 ? 0 : (totals[kind] / all) * 1000;
    x += width;
    return (
      width > 0 && html`<rect class="${kind}" x="${(x - width).toFixed(1)}" width="${width.toFixed(1)}" height="8"/>`
    );
  });
  const items = KIND_ORDER.filter((kind) => totals[kind] > 0).map(
    (kind) =>
      html`<li><span class="swatch ${kind}"></span>${KIND_LABELS[kind]} <span class="quiet">${length(ended[kind], kind === current?.kind)}</span></li>`,
  );
  return html`<div data-key="legend" data-quiet><svg class="share" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">${rects}</svg>
<ul class="legend"><li class="quiet"><span>${range}: ${length(totalMs(ended), true)}</span></li>${items}</ul></div>`;
}

const totalMs = (totals: Totals): number => KIND_ORDER.reduce((total, kind) => total + totals[kind], 0);

const durationMs = ({ from, to }: Span): number => to.getTime() - from.getTime();

/** Whether nothing ran in a span; such spans are folded when they are long. */
const isIdle = ({ kind }: Span): boolean => kind === 'waiting' || kind === 'queued' || kind === 'change';

/** The longest time, in milliseconds, that the run was busy in one span: the full width of a bar in the table. */
export const longestBusyMs = ({ ended, current }: TimelineSpans): number =>
  Math.max(0, ...[...ended, ...(current ? [current] : [])].filter((span) => !isIdle(span)).map(durationMs));

/** The classes of the table; the script copies them, since a longer span changes the scale of every bar. */
export const timelineTableClass = (longest: number): string => `list timeline ${durationClass(longest)}`;

/** The table of spans, oldest first; the last row is the current span. */
export function timelineTable(run: string, spans: TimelineSpans, now: Date): Html {
  const { ended, current } = spans;
  const columns = [
    ['Version', 'number'],
    ['Activity', ''],
    ['Chart', ''],
    ['Duration', 'number'],
    ['Ended', ''],
    ['Size', 'number'],
  ];
  return html`<table class="${timelineTableClass(longestBusyMs(spans))}" data-scale role="table"><caption class="unseen">Checkpoints, oldest first</caption>
<thead role="rowgroup"><tr role="row">${columns.map(([name, kind]) => html`<th role="columnheader" scope="col"${kind && html` class="${kind}"`}>${name}</th>`)}</tr></thead>
<tbody role="rowgroup" data-list="timeline">${ended.map((span) => spanRow(run, span, now))}</tbody>
<tbody role="rowgroup">${currentRow(current)}</tbody></table>`;
}

/** The row of an ended span. */
export function spanRow(run: string, span: Span, now: Date): Html {
  const { kind, label, checkpoint } = span;
  if (!checkpoint) return html``;
  const { version, name, bytes, savedAt, pruned, step } = checkpoint;
  const { writeUnits, puts } = writeCost(checkpoint);
  const cost = `about ${pluralize(writeUnits, 'write unit')}${puts > 0 ? ` and ${pluralize(puts, 'put')}` : ''}`;
  return html`<tr role="row" id="v${version}" data-key="version:${version}">
<td role="cell" class="number version" data-label="Version">${version}</td>
<th role="rowheader" scope="row"><a href="${PATHS.checkpoint(run, version)}">${userText(label)}</a>${kind !== 'step' && version > 1 && html` <span class="tag">${KIND_LABELS[kind]}</span>`}${kind === 'failure' && step !== undefined && step !== label && html` <span class="quiet">${userText(step)}</span>`}${name !== undefined && html` <span class="tag">${userText(name)}</span>`}${pruned && html` <span class="tag">pruned</span>`}</th>
<td role="cell" class="picture-cell">${bar(span)}</td>
<td role="cell" class="number nowrap" data-label="Duration">${formatDuration(durationMs(span))}</td>
<td role="cell" class="nowrap" data-label="Ended">${relativeTime(savedAt, now)}</td>
<td role="cell" class="number nowrap" data-label="Size" title="${cost}">${formatBytes(bytes)}</td>
</tr>`;
}

/** The row of the current span; hidden once the run has ended. */
export function currentRow(span: Span | undefined): Html {
  if (!span) return html`<tr data-key="now" hidden></tr>`;
  return html`<tr role="row" id="now" data-key="now" data-quiet>
<td role="cell" class="number bare"></td>
<th role="rowheader" scope="row">${userText(span.label)} <span class="tag">now</span></th>
<td role="cell" class="picture-cell">${bar(span)}</td>
<td role="cell" class="number nowrap" data-label="So far">${elapsedTime(span.from, span.to)}</td>
<td role="cell" class="bare"></td><td role="cell" class="bare"></td>
</tr>`;
}

const bar = (span: Span): Html =>
  html`<span class="track" aria-hidden="true"><span class="${span.kind} ${durationClass(durationMs(span))}"><i></i></span></span>`;
