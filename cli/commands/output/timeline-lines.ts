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

/** How each kind of time is drawn: its character and its style. Kinds differ without colours too. */
const BAR_STYLES: Readonly<Record<SpanKind, { readonly fill: string; readonly style: Style }>> = {
  step: { fill: '█', style: 'cyan' },
  failure: { fill: '▓', style: 'yellow' },
  crash: { fill: '╳', style: 'red' },
  waiting: { fill: '░', style: 'dim' },
  queued: { fill: '·', style: 'dim' },
  change: { fill: '◆', style: 'magenta' },
};

/** One row of the picture. */
interface Row {
  readonly kind: SpanKind;
  readonly label: string;
  readonly milliseconds: number;
  /** The checkpoint that ended it. */
  readonly version?: number;
}

// Waits take days where steps take seconds: together they get no more of the picture than this.
const MAX_IDLE_SHARE = 1 / 3;

/** A timeline as lines: each stretch with its bar where it was in time, below them what the time went to. */
export function timelineLines(timeline: Timeline, columns: number, most: number): readonly Line[] {
  const all = timeline.spans.flatMap(toRows);
  const rows = all.slice(-most);
  const left = all.length - rows.length;
  const width = Math.min(columns, 120);
  const numbers = Math.max(...rows.map(({ version = '' }) => String(version).length), 1);
  const labels = Math.min(
    Math.max(...rows.map(({ label }) => lineWidth(label))),
    Math.max(10, Math.floor(width * 0.32)),
  );
  const lengths = Math.max(...rows.map((row) => durationText(row).length));
  const room = Math.max(4, width - numbers - labels - lengths - 8);
  const { bars, isShortened } = drawBars(rows, room);
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
    ...(left > 0 ? [dim(`  … ${pluralize(left, 'earlier stretch', 'earlier stretches')}; --all shows them`)] : []),
    ...lines.map((line) => truncate(trimLineEnd(line), width)),
    ...totalLines(all, timeline, width),
    ...(isShortened ? [dim('  Waits are drawn shorter.')] : []),
  ];
}

/** A stretch; a change from outside is a moment, and what was before it a wait, if it was one. */
function toRows(stretch: Span): readonly Row[] {
  const { kind, from, to, status, checkpoint } = stretch;
  const row = { kind, label: stretchLabel(stretch), milliseconds: to.getTime() - from.getTime() };
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

/** What happened; crashes and failures have a mark, and what only changes the status an arrow. */
export function stretchLabel({ kind, label, checkpoint, status }: Span): string {
  const isChange = kind === 'step' && checkpoint?.step === undefined && (checkpoint?.status ?? status) !== status;
  const mark = isChange ? '→ ' : (MARKS[kind] ?? '');
  return `${mark}${label}${kind === 'failure' ? ' failed' : ''}${checkpoint ? '' : ' …'}`;
}

/** Whether nothing happened meanwhile; before a change that reopens a run, it was over. */
const isIdle = ({ kind }: Row): boolean => kind === 'waiting' || kind === 'queued' || kind === 'change';

const durationText = ({ kind, milliseconds }: Row): string =>
  milliseconds === 0 && kind !== 'step' ? '' : formatDuration(milliseconds);

/** The bar of each row, where it begins and ends in the whole. */
function drawBars(
  rows: readonly Row[],
  room: number,
): { readonly bars: readonly Line[]; readonly isShortened: boolean } {
  const sum = (of: readonly Row[]) => of.reduce((total, { milliseconds }) => total + milliseconds, 0);
  const rest = sum(rows.filter(isIdle));
  const work = sum(rows) - rest;
  const longest = (work * MAX_IDLE_SHARE) / (1 - MAX_IDLE_SHARE);
  const isShortened = work > 0 && rest > longest;
  const drawn = (row: Row) => row.milliseconds * (isShortened && isIdle(row) ? longest / rest : 1);
  const total = rows.reduce((all, row) => all + drawn(row), 0) || 1;
  let at = 0;
  const bars = rows.map((row): Line => {
    const from = Math.min(room - 1, Math.floor((at / total) * room));
    at += drawn(row);
    const to = Math.min(room, Math.max(from + 1, Math.round((at / total) * room)));
    const { fill, style } = BAR_STYLES[row.kind];
    if (row.kind === 'change') return [' '.repeat(to - 1), styled(style, fill)];
    // What takes no time to speak of is a thin mark.
    const isThin = row.kind === 'step' && (drawn(row) / total) * room < 0.5;
    return [' '.repeat(from), styled(style, isThin ? '▏' : fill.repeat(to - from))];
  });
  return { bars, isShortened };
}

function totalLines(rows: readonly Row[], { crashes, failures }: Timeline, width: number): readonly Line[] {
  const took = (kind: SpanKind) => rows.reduce((sum, row) => sum + (row.kind === kind ? row.milliseconds : 0), 0);
  const parts: readonly (readonly [SpanKind, string])[] = [
    ['step', `worked ${formatDuration(took('step'))}`],
    ...(took('waiting') > 0 ? [['waiting', `waited ${formatDuration(took('waiting'))}`] as const] : []),
    ...(took('queued') > 0 ? [['queued', `in the queue ${formatDuration(took('queued'))}`] as const] : []),
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
