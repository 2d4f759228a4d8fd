import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { print } from './table.ts';
import { lastStep, type Trace } from './trace.ts';

const FILE = fileURLToPath(new URL('../docs/reference/cost.svg', import.meta.url));

const WIDTH = 760;
const HEIGHT = 440;
const LEFT = 84;
const RIGHT = 150;
const TOP = 44;
const BOTTOM = 52;
// Readable on white and on black backgrounds.
const COLORS = ['#2f9e6e', '#c9822b', '#c2504d'];
const INK = '#7d8590';

interface Line {
  readonly name: string;
  readonly traced: Trace;
}

/** Writes docs/reference/cost.svg: cumulative write units against turns, both axes logarithmic. */
export function writePlot(lines: readonly Line[]): void {
  const turns = Math.max(...lines.map(({ traced }) => lastStep(traced)));
  const units = Math.max(...lines.map(({ traced }) => traced.after.at(-1)?.writeUnits ?? 0));
  const xDecades = Math.ceil(Math.log10(turns));
  const yDecades = Math.ceil(Math.log10(units));
  const x = (turn: number) => LEFT + (Math.log10(turn) / xDecades) * (WIDTH - LEFT - RIGHT);
  const y = (count: number) => HEIGHT - BOTTOM - (Math.log10(Math.max(1, count)) / yDecades) * (HEIGHT - TOP - BOTTOM);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="12" fill="${INK}">`,
    '<title>Write units of a conversation, against turns</title>',
    text(
      LEFT,
      22,
      'DynamoDB write units of one conversation, 1.2 KB a turn (both axes by powers of ten)',
      'font-size="14"',
    ),
    ...decades(xDecades).map(
      (turn) =>
        grid(x(turn), TOP, x(turn), HEIGHT - BOTTOM) +
        text(x(turn), HEIGHT - BOTTOM + 18, label(turn), 'text-anchor="middle"'),
    ),
    ...decades(yDecades).map(
      (count) =>
        grid(LEFT, y(count), WIDTH - RIGHT, y(count)) + text(LEFT - 8, y(count) + 4, label(count), 'text-anchor="end"'),
    ),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, 'turns', 'text-anchor="middle"'),
    text(
      0,
      0,
      'write units so far',
      `text-anchor="middle" transform="translate(18 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"`,
    ),
    ...lines.map((line, at) => curve(line, COLORS[at % COLORS.length] ?? INK, x, y)),
    '</svg>',
  ];
  writeFileSync(FILE, `${parts.join('\n')}\n`);
  print(`Wrote ${FILE}`);
}

function curve(
  { name, traced }: Line,
  color: string,
  x: (turn: number) => number,
  y: (count: number) => number,
): string {
  const last = lastStep(traced);
  const turns = [...new Set(Array.from({ length: 121 }, (_, at) => Math.round(last ** (at / 120))))];
  const points = turns
    .map((turn) => `${x(turn).toFixed(1)},${y(traced.after[turn]?.writeUnits ?? 1).toFixed(1)}`)
    .join(' ');
  const end = traced.after[last]?.writeUnits ?? 1;
  const marker = traced.failure
    ? `<circle cx="${x(last).toFixed(1)}" cy="${y(end).toFixed(1)}" r="4" fill="${color}"/>`
    : '';
  const outcome = traced.failure ? `fails at turn ${traced.failure.step}` : `${label(end)} units`;
  // A line that stops early ends inside the frame; its name goes below it, so that other lines do not cross it.
  const [dx, dy] = traced.failure ? [10, name.startsWith('@') ? -6 : 14] : [8, 0];
  return [
    `<polyline fill="none" stroke="${color}" stroke-width="2.5" stroke-linejoin="round" points="${points}"/>${marker}`,
    text(x(last) + dx, y(end) + dy, name, `fill="${color}" font-weight="600"`),
    text(x(last) + dx, y(end) + dy + 14, outcome, `fill="${color}"`),
  ].join('\n');
}

const decades = (count: number): readonly number[] => Array.from({ length: count + 1 }, (_, power) => 10 ** power);
const label = (value: number): string => Math.round(value).toLocaleString('en');
const grid = (x1: number, y1: number, x2: number, y2: number): string =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="${INK}" stroke-opacity="0.25"/>`;
const text = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${content}</text>`;
