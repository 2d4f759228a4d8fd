import type { Stretch, StretchKind, Timeline } from '../../lambda/desk/timeline.ts';
import {
  dim,
  fitted,
  type Line,
  type Piece,
  pad,
  piecesOf,
  type Style,
  styled,
  trimmed,
  widthOf,
} from '../terminal/line.ts';
import { lengthOf } from '../terminal/times.ts';
import { counted } from './answer.ts';

/** How each kind of time is drawn: its character and its style. Kinds differ without colours too. */
const DRAWN: Readonly<Record<StretchKind, { readonly fill: string; readonly style: Style }>> = {
  step: { fill: '█', style: 'cyan' },
  failure: { fill: '▓', style: 'yellow' },
  crash: { fill: '╳', style: 'red' },
  waiting: { fill: '░', style: 'dim' },
  queued: { fill: '·', style: 'dim' },
  change: { fill: '◆', style: 'magenta' },
};

const isRest = ({ kind }: Stretch): boolean => kind === 'waiting' || kind === 'queued';
const msOf = ({ from, to }: Stretch): number => to.getTime() - from.getTime();

// Waits take days where steps take seconds: together they get no more of the picture than this.
const MOST_REST = 1 / 3;

/** A timeline as lines: each stretch with its bar where it was in time, below them what the time went to. */
export function timelineLines(timeline: Timeline, columns: number, most: number): readonly Line[] {
  const { stretches } = timeline;
  const shown = stretches.slice(-most);
  const left = stretches.length - shown.length;
  const width = Math.min(columns, 120);
  const numbers = Math.max(...shown.map(({ checkpoint }) => String(checkpoint?.version ?? '').length), 1);
  const labels = Math.min(
    Math.max(...shown.map((stretch) => widthOf(labelOf(stretch)))),
    Math.max(10, Math.floor(width * 0.32)),
  );
  const lengths = Math.max(...shown.map((stretch) => lengthText(stretch).length));
  const room = Math.max(4, width - numbers - labels - lengths - 8);
  const { bars, isShortened } = barsOf(shown, room);
  const rows = shown.map((stretch, i): Line => {
    const { kind, checkpoint } = stretch;
    const style = DRAWN[kind].style;
    return [
      '  ',
      ...piecesOf(pad(dim(String(checkpoint?.version ?? '')), numbers, 'right')),
      '  ',
      ...piecesOf(pad(styled(kind === 'step' ? [] : style, labelOf(stretch)), labels)),
      ' ',
      ...piecesOf(pad(bars[i] ?? '', room)),
      ' ',
      ...piecesOf(pad(isRest(stretch) ? dim(lengthText(stretch)) : lengthText(stretch), lengths, 'right')),
    ];
  });
  return [
    ...(left > 0 ? [dim(`  … ${counted(left, 'earlier stretch', 'earlier stretches')}; --all shows them`)] : []),
    ...rows.map((row) => fitted(trimmed(row), width)),
    ...totalsLines(timeline, width, isShortened),
  ];
}

const MARKS: { readonly [K in StretchKind]?: string } = { crash: '✗ ', failure: '! ' };

/** What happened; crashes and failures have a mark, and what only changes the status an arrow. */
function labelOf({ kind, label, checkpoint, status }: Stretch): string {
  const isChange = kind === 'step' && checkpoint?.step === undefined && (checkpoint?.status ?? status) !== status;
  const mark = isChange ? '→ ' : (MARKS[kind] ?? '');
  return `${mark}${label}${kind === 'failure' ? ' failed' : ''}${checkpoint ? '' : ' …'}`;
}

const lengthText = (stretch: Stretch): string =>
  msOf(stretch) === 0 && stretch.kind !== 'step' ? '' : lengthOf(msOf(stretch));

/** The bar of each stretch, where it begins and ends in the whole. */
function barsOf(
  stretches: readonly Stretch[],
  room: number,
): { readonly bars: readonly Line[]; readonly isShortened: boolean } {
  const rest = stretches.filter(isRest).reduce((sum, stretch) => sum + msOf(stretch), 0);
  const work = stretches.reduce((sum, stretch) => sum + msOf(stretch), 0) - rest;
  const longest = (work * MOST_REST) / (1 - MOST_REST);
  const isShortened = work > 0 && rest > longest;
  const scale = isShortened ? longest / rest : 1;
  const drawn = (stretch: Stretch) => msOf(stretch) * (isRest(stretch) ? scale : 1);
  const total = stretches.reduce((sum, stretch) => sum + drawn(stretch), 0) || 1;
  let at = 0;
  const bars = stretches.map((stretch): Line => {
    const from = Math.min(room - 1, Math.floor((at / total) * room));
    at += drawn(stretch);
    const cells = Math.max(1, Math.min(room, Math.round((at / total) * room)) - from);
    const { fill, style } = DRAWN[stretch.kind];
    // What takes no time to speak of is a thin mark.
    const isThin = stretch.kind === 'step' && (drawn(stretch) / total) * room < 0.5;
    return [' '.repeat(from), styled(style, isThin ? '▏' : fill.repeat(cells))];
  });
  return { bars, isShortened };
}

function totalsLines({ totals, crashes, failures }: Timeline, width: number, isShortened: boolean): readonly Line[] {
  const parts: readonly (readonly [StretchKind, string])[] = [
    ['step', `worked ${lengthOf(totals.step)}`],
    ...(totals.waiting > 0 ? [['waiting', `waited ${lengthOf(totals.waiting)}`] as const] : []),
    ...(totals.queued > 0 ? [['queued', `in the queue ${lengthOf(totals.queued)}`] as const] : []),
    ...(failures > 0
      ? [['failure', `${counted(failures, 'failed attempt')} ${lengthOf(totals.failure)}`] as const]
      : []),
    ...(crashes > 0 ? [['crash', `${counted(crashes, 'crash', 'crashes')} ${lengthOf(totals.crash)}`] as const] : []),
  ];
  const lines: Piece[][] = [['  ']];
  for (const [kind, text] of parts) {
    const piece = [styled(DRAWN[kind].style, DRAWN[kind].fill), ` ${text}`];
    const line = lines.at(-1) ?? [];
    if (widthOf(line) > 2 && widthOf([...line, '   ', ...piece]) > width) lines.push(['  ', ...piece]);
    else line.push(...(widthOf(line) > 2 ? ['   '] : []), ...piece);
  }
  return ['', ...lines, ...(isShortened ? [dim('  Waits are drawn shorter.')] : [])];
}
