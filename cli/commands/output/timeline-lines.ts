import { isWaiting } from '../../../lambda/core/status.ts';
import { describeStatus, type Span, type SpanKind, type Timeline } from '../../../lambda/operator/timeline.ts';
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

/** One row of the drawing. */
interface Row {
  readonly kind: SpanKind;
  readonly label: string;
  readonly milliseconds: number;
  /** The checkpoint that ended it. */
  readonly version?: number;
}

// Waits take days where steps take seconds. The longest waits are folded until the others are at most this share of the
// time that is drawn to scale.
const MAX_IDLE_SHARE = 1 / 2;
// A folded wait has a fixed width, and all of them together have at most this share of the drawing.
const FOLDED_WIDTH = 4;
const MAX_FOLDED_SHARE = 1 / 3;

/** Draws a timeline: a row with a bar for each span, and the total times below. */
export function timelineLines(timeline: Timeline, columns: number, maxRows: number): readonly Line[] {
  const all = timeline.spans.flatMap(toRows);
  const rows = all.slice(-maxRows);
  const hiddenCount = all.length - rows.length;
  const width = Math.min(columns, 120);
  const numbers = Math.max(...rows.map(({ version = '' }) => String(version).length), 1);
  const labels = Math.min(
    Math.max(...rows.map(({ label }) => lineWidth(label))),
    Math.max(10, Math.floor(width * 0.32)),
  );
  const lengths = Math.max(...rows.map((row) => durationText(row).length));
  const room = Math.max(4, width - numbers - labels - lengths - 8);
  const bars = drawBars(rows, room);
  const lines = rows.map((row, i): Line => {
    const { kind, label, version = '' } = row;
    const length = durationText(row);
    const cells: readonly Line[] = [
      pad(dim(String(version)), numbers, 'right'),
      ' ',
      pad(styled(kind === 'step' ? [] : BAR_STYLES[kind].style, label), labels),
      pad(bars[i] ?? '', room),
      pad(isIdle(row) ? dim(length) : length, lengths, 'right'),
    ];
    return ['  ', ...cells.flatMap((cell, column) => [...(column > 0 && cell !== ' ' ? [' '] : []), ...toSpans(cell)])];
  });
  return [
    ...(hiddenCount > 0 ? [dim(`  … ${pluralize(hiddenCount, 'earlier row')}; use --all to see them`)] : []),
    ...lines.map((line) => truncate(trimLineEnd(line), width)),
    ...totalLines(all, timeline, width),
  ];
}

/** The rows of a span. A change from outside is a moment without duration; the wait before it is a separate row. */
function toRows(span: Span): readonly Row[] {
  const { kind, from, to, status, checkpoint } = span;
  const row = { kind, label: spanLabel(span), milliseconds: to.getTime() - from.getTime() };
  const ended = checkpoint ? { ...row, version: checkpoint.version } : row;
  if (kind !== 'change' || !(isWaiting(status) || status === 'READY')) return [ended];
  const wait = {
    ...row,
    kind: isWaiting(status) ? 'waiting' : 'queued',
    label: describeStatus(status),
  } as const;
  return [...(row.milliseconds > 0 ? [wait] : []), { ...ended, milliseconds: 0 }];
}

const MARKS: { readonly [K in SpanKind]?: string } = { crash: '✗ ', failure: '! ' };

/** The label of a span. Crashes and failures have a mark, and a checkpoint that only changes the status an arrow. */
export function spanLabel({ kind, label, checkpoint, status }: Span): string {
  const isChange = kind === 'step' && checkpoint?.step === undefined && (checkpoint?.status ?? status) !== status;
  const mark = isChange ? '→ ' : (MARKS[kind] ?? '');
  return `${mark}${label}${kind === 'failure' ? ' failed' : ''}${checkpoint ? '' : ' …'}`;
}

/** Whether the run did nothing in this time; before a change that reopens a run, the run had ended. */
const isIdle = ({ kind }: Row): boolean => kind === 'waiting' || kind === 'queued' || kind === 'change';

const durationText = ({ kind, milliseconds }: Row): string =>
  milliseconds === 0 && kind !== 'step' ? '' : formatDuration(milliseconds);

/** Draws the bar of each row to scale, starting where the previous one ends. Long waits are folded. */
function drawBars(rows: readonly Row[], room: number): readonly Line[] {
  const folded = longWaits(rows);
  const foldedWidth = Math.min(FOLDED_WIDTH, (room * MAX_FOLDED_SHARE) / Math.max(1, folded.size));
  const scale = (room - foldedWidth * folded.size) / (sum(rows.filter((row) => !folded.has(row))) || 1);
  let end = 0;
  return rows.map((row): Line => {
    const width = folded.has(row) ? foldedWidth : row.milliseconds * scale;
    const from = Math.min(room - 1, Math.floor(end));
    end += width;
    const to = Math.min(room, Math.max(from + 1, Math.round(end)));
    const { fill, style } = BAR_STYLES[row.kind];
    if (row.kind === 'change') return [' '.repeat(to - 1), styled(style, fill)];
    const isThin = row.kind === 'step' && width < 0.5;
    const bar = folded.has(row) ? foldedBar(fill, to - from) : fill.repeat(to - from);
    return [' '.repeat(from), styled(style, isThin ? '▏' : bar)];
  });
}

/** The waits to fold. Without any other time, nothing is folded. */
function longWaits(rows: readonly Row[]): ReadonlySet<Row> {
  const waits = rows.filter(isIdle).toSorted((a, b) => b.milliseconds - a.milliseconds);
  const folded = new Set<Row>();
  let idleMs = sum(waits);
  const activeMs = sum(rows) - idleMs;
  if (activeMs === 0) return folded;
  for (const wait of waits) {
    if (idleMs <= (activeMs * MAX_IDLE_SHARE) / (1 - MAX_IDLE_SHARE)) break;
    folded.add(wait);
    idleMs -= wait.milliseconds;
  }
  return folded;
}

const foldedBar = (fill: string, width: number): string =>
  width < 3 ? '┄'.repeat(width) : `${fill}${'┄'.repeat(width - 2)}${fill}`;

const sum = (rows: readonly Row[]): number => rows.reduce((total, { milliseconds }) => total + milliseconds, 0);

function totalLines(rows: readonly Row[], { crashes, failures }: Timeline, width: number): readonly Line[] {
  const took = (kind: SpanKind) => sum(rows.filter((row) => row.kind === kind));
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
  const lines: TextSpan[][] = [['  ']];
  for (const [kind, text] of parts) {
    const piece = [styled(BAR_STYLES[kind].style, BAR_STYLES[kind].fill), ` ${text}`];
    const line = lines.at(-1) ?? [];
    if (lineWidth(line) > 2 && lineWidth([...line, '   ', ...piece]) > width) lines.push(['  ', ...piece]);
    else line.push(...(lineWidth(line) > 2 ? ['   '] : []), ...piece);
  }
  return ['', ...lines];
}
