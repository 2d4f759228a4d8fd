import { dim, type Line, lineWidth, pad, type TextSpan, toSpans, trimLineEnd, truncate } from './line.ts';

/** A column of a table, and what becomes of it where room is scarce. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Line;
  readonly align?: 'left' | 'right';
  /** As narrow as it may get. @default as wide as what is in it */
  readonly minWidth?: number;
  /** Columns with a number give room, then are left out, before those with a smaller one; those without never are. */
  readonly dropPriority?: number;
}

const GAP = 2;

/** Rows in columns that together are at most so wide: columns shrink, then the least important ones go. */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): readonly Line[] {
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)));
  const natural = columns.map(({ title }, i) =>
    Math.max(lineWidth(title), ...cells.map((row) => lineWidth(row[i] ?? ''))),
  );
  const all = columns.map((column, index) => ({ ...column, index, wide: natural[index] ?? 0 }));
  // A column in which nothing is says nothing.
  const said = all.filter(({ index }) => rows.length === 0 || cells.some((row) => lineWidth(row[index] ?? '') > 0));
  const shown = fitting(said, width);
  const line = (row: readonly Line[]): Line => {
    const pieces = shown.flatMap(({ index, room, align }, i): TextSpan[] => {
      const isLast = i === shown.length - 1 && align !== 'right';
      const text = truncate(row[index] ?? '', room);
      const cell = isLast ? text : pad(text, room, align);
      return [...(i > 0 ? [' '.repeat(GAP)] : []), ...toSpans(cell)];
    });
    return truncate(trimLineEnd(pieces), width);
  };
  return [line(columns.map(({ title }) => dim(title))), ...cells.map(line)];
}

interface Measured {
  readonly wide: number;
  readonly least?: number;
  readonly leaveOut?: number;
}

const leastOf = ({ wide, least = wide }: Measured): number => Math.min(wide, least);

/** The columns that have room, and how much. */
function fitting<C extends Measured>(columns: readonly C[], width: number): readonly (C & { readonly room: number })[] {
  const available = width - GAP * (columns.length - 1);
  const least = columns.reduce((sum, column) => sum + leastOf(column), 0);
  const last = columns.reduce((most, { leaveOut = 0 }) => Math.max(most, leaveOut), 0);
  if (least > available && last > 0)
    return fitting(
      columns.filter(({ leaveOut = 0 }) => leaveOut < last),
      width,
    );
  const rooms = columns.map(({ wide }) => wide);
  for (let over = sum(rooms) - available; over > 0; over--) {
    const giver = giverOf(columns, rooms);
    if (giver === undefined) break;
    rooms[giver] = (rooms[giver] ?? 0) - 1;
  }
  return columns.map((column, i) => ({ ...column, room: rooms[i] ?? 0 }));
}

/** Who gives a column next: the least important, and of those alike the widest. */
function giverOf(columns: readonly Measured[], rooms: readonly number[]): number | undefined {
  const givers = columns
    .map(({ leaveOut = 0 }, index) => ({ index, leaveOut, room: rooms[index] ?? 0 }))
    .filter(({ index, room }) => canGive(columns[index], room))
    .sort((a, b) => b.leaveOut - a.leaveOut || b.room - a.room);
  return givers[0]?.index;
}

const canGive = (column: Measured | undefined, room: number): boolean => column !== undefined && room > leastOf(column);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
