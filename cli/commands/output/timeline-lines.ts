import type { Span, SpanKind } from '../../../lambda/operator/timeline.ts';
import { durationMs, isIdle, layoutTimeline } from '../../../lambda/operator/timeline-layout.ts';
import type { TimelinePage } from '../../../lambda/operator/timeline-page.ts';
import {
  dim,
  type Line,
  lineWidth,
  pad,
  type Style,
  styled,
  type TextSpan,
  toSpans,
  trimLineEnd,
  truncate,
} from '../../terminal/line.ts';
import { formatDuration } from '../../terminal/times.ts';
import { pluralize } from './print-result.ts';

/** The character and the style of each kind of bar. The characters differ, so that the kinds differ without colors too. */
const BAR_STYLES: Readonly<Record<SpanKind, { readonly fill: string; readonly style: Style }>> = {
  step: { fill: '█', style: 'cyan' },
  failure: { fill: '▓', style: 'yellow' },
  crash: { fill: '╳', style: 'red' },
  waiting: { fill: '░', style: 'dim' },
  queued: { fill: '·', style: 'dim' },
  change: { fill: '◆', style: 'magenta' },
};

/** One row of the drawing, and where its bar is on an axis from 0 to 1. */
interface Row extends Pick<Span, 'kind' | 'from' | 'to'> {
  readonly label: string;
  /** The checkpoint that ended it. */
  readonly version?: number;
  readonly start: number;
  readonly width: number;
  readonly isFolded: boolean;
}

/** The width of a folded wait, in columns. */
const FOLDED_WIDTH = 4;

/** Draws a timeline: a row with a bar for each span, and the total times below. */
export function timelineLines(timeline: TimelinePage, columns: number, maxRows: number): readonly Line[] {
  const width = Math.min(columns, 120);
  const labelOf = (spans: readonly Span[]) => Math.max(...spans.map((span) => lineWidth(spanLabel(span))), 5);
  const spans = timeline.spans.slice(-maxRows);
  const numbers = String(timeline.last).length;
  const labels = Math.min(labelOf(spans), Math.max(10, Math.floor(width * 0.32)));
  const lengths = Math.max(...spans.map((span) => durationText(span).length), 1);
  const room = Math.max(4, width - numbers - labels - lengths - 8);
  const rows = toRows(spans, FOLDED_WIDTH / room);
  const lines = rows.map((row): Line => {
    const { kind, label, version = '' } = row;
    const length = durationText(row);
    const cells: readonly Line[] = [
      pad(dim(String(version)), numbers, 'right'),
      ' ',
      pad(styled(kind === 'step' ? [] : BAR_STYLES[kind].style, label), labels),
      pad(drawBar(row, room), room),
      pad(isIdle(row) ? dim(length) : length, lengths, 'right'),
    ];
    return ['  ', ...cells.flatMap((cell, column) => [...(column > 0 && cell !== ' ' ? [' '] : []), ...toSpans(cell)])];
  });
  const earlier = (spans[0]?.checkpoint?.version ?? 1) - 1;
  return [
    ...(earlier > 0 ? [dim(`  … ${pluralize(earlier, 'earlier checkpoint')}; use --all to see them`)] : []),
    ...lines.map((line) => truncate(trimLineEnd(line), width)),
    ...totalLines(timeline, width),
  ];
}

/** The rows of spans: one for each, or one for each of the operations that ran side by side. */
function toRows(spans: readonly Span[], foldedWidth: number): readonly Row[] {
  const { places, placeOf } = layoutTimeline(spans, foldedWidth);
  return spans.flatMap((span, i): readonly Row[] => {
    const { from: start, width, isFolded } = places[i] ?? { from: 0, width: 0, isFolded: false };
    const version = span.checkpoint && { version: span.checkpoint.version };
    if (!span.parts) return [{ ...span, label: spanLabel(span), ...version, start, width, isFolded }];
    return span.parts.map((part) => {
      const begin = placeOf(part.from);
      const label = `${MARKS[part.kind] ?? ''}${part.label}`;
      return { ...part, label, ...version, start: begin, width: placeOf(part.to) - begin, isFolded: false };
    });
  });
}

const MARKS: { readonly [K in SpanKind]?: string } = { crash: '✗ ', failure: '! ' };

/** The label of a span. Crashes and failures have a mark, and a checkpoint that only changes the status an arrow. */
export function spanLabel({ kind, label, checkpoint, status }: Span): string {
  const isChange = kind === 'step' && checkpoint?.step === undefined && (checkpoint?.status ?? status) !== status;
  const mark = isChange ? '→ ' : (MARKS[kind] ?? '');
  return `${mark}${label}${kind === 'failure' ? ' failed' : ''}${checkpoint ? '' : ' …'}`;
}

const durationText = (span: Pick<Span, 'kind' | 'from' | 'to'>): string =>
  durationMs(span) === 0 && span.kind !== 'step' ? '' : formatDuration(durationMs(span));

/** Draws the bar of a row to scale, at its place. A long wait is folded, and a change is a moment. */
function drawBar({ kind, start, width, isFolded }: Row, room: number): Line {
  const from = Math.min(room - 1, Math.floor(start * room));
  const to = Math.min(room, Math.max(from + 1, Math.round((start + width) * room)));
  const { fill, style } = BAR_STYLES[kind];
  if (kind === 'change') return [' '.repeat(from), styled(style, fill)];
  const isThin = kind === 'step' && width * room < 0.5;
  const bar = isFolded ? foldedBar(fill, to - from) : fill.repeat(to - from);
  return [' '.repeat(from), styled(style, isThin ? '▏' : bar)];
}

const foldedBar = (fill: string, width: number): string =>
  width < 3 ? '┄'.repeat(width) : `${fill}${'┄'.repeat(width - 2)}${fill}`;

function totalLines({ totals, crashes, failures, isWhole }: TimelinePage, width: number): readonly Line[] {
  const took = (kind: SpanKind) => totals[kind];
  const parts: readonly (readonly [SpanKind, string])[] = [
    ['step', `worked ${formatDuration(took('step'))}`],
    ...(took('waiting') > 0 ? [['waiting', `waited ${formatDuration(took('waiting'))}`] as const] : []),
    ...(took('queued') > 0 ? [['queued', `queued ${formatDuration(took('queued'))}`] as const] : []),
    ...(failures > 0
      ? [['failure', `${pluralize(failures, 'failed attempt')} ${formatDuration(took('failure'))}`] as const]
      : []),
    ...(crashes > 0
      ? [['crash', `${pluralize(crashes, 'crash', 'crashes')} ${formatDuration(took('crash'))}`] as const]
      : []),
  ];
  const lines: TextSpan[][] = [['  ', ...(isWhole ? [] : [dim('of these: ')])]];
  for (const [kind, text] of parts) {
    const piece = [styled(BAR_STYLES[kind].style, BAR_STYLES[kind].fill), ` ${text}`];
    const line = lines.at(-1) ?? [];
    if (lineWidth(line) > 2 && lineWidth([...line, '   ', ...piece]) > width) lines.push(['  ', ...piece]);
    else line.push(...(lineWidth(line) > 2 ? ['   '] : []), ...piece);
  }
  return ['', ...lines];
}
