import { dim, type Line, lineWidth, pad, type TextSpan, toSpans, trimLineEnd, truncate } from './line.ts';

/** A column of a table, and how it shrinks on a narrow terminal. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => Line;
  readonly align?: 'left' | 'right';
  /** The width that it can shrink to. @default the width of its widest cell */
  readonly minWidth?: number;
  /** Columns with a higher number shrink first and are dropped first. A column without one is never dropped. */
  readonly dropPriority?: number;
}

const GAP = 2;

/** Formats rows as a table of at most `width` columns: cells shrink first, then the least important columns are dropped. */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): readonly Line[] {
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)));
  const naturalWidths = columns.map(({ title }, i) =>
    Math.max(lineWidth(title), ...cells.map((row) => lineWidth(row[i] ?? ''))),
  );
  const all = columns.map((column, index) => ({ ...column, index, naturalWidth: naturalWidths[index] ?? 0 }));
  const nonEmpty = all.filter(({ index }) => rows.length === 0 || cells.some((row) => lineWidth(row[index] ?? '') > 0));
  const shown = fitColumns(nonEmpty, width);
  const line = (row: readonly Line[]): Line => {
    const spans = shown.flatMap(({ index, shownWidth, align }, i): TextSpan[] => {
      const isLast = i === shown.length - 1 && align !== 'right';
      const text = truncate(row[index] ?? '', shownWidth);
      const cell = isLast ? text : pad(text, shownWidth, align);
      return [...(i > 0 ? [' '.repeat(GAP)] : []), ...toSpans(cell)];
    });
    return truncate(trimLineEnd(spans), width);
  };
  return [line(columns.map(({ title }) => dim(title))), ...cells.map(line)];
}

interface MeasuredColumn {
  readonly naturalWidth: number;
  readonly minWidth?: number;
  readonly dropPriority?: number;
}

const minWidthOf = ({ naturalWidth, minWidth = naturalWidth }: MeasuredColumn): number =>
  Math.min(naturalWidth, minWidth);

/** The columns that fit into `width`, with the width of each. */
function fitColumns<C extends MeasuredColumn>(
  columns: readonly C[],
  width: number,
): readonly (C & { readonly shownWidth: number })[] {
  const available = width - GAP * (columns.length - 1);
  const needed = sum(columns.map(minWidthOf));
  const highest = Math.max(0, ...columns.map(({ dropPriority = 0 }) => dropPriority));
  if (needed > available && highest > 0)
    return fitColumns(
      columns.filter(({ dropPriority = 0 }) => dropPriority < highest),
      width,
    );
  const widths = columns.map(({ naturalWidth }) => naturalWidth);
  for (let excess = sum(widths) - available; excess > 0; excess--) {
    const shrinking = nextToShrink(columns, widths);
    if (shrinking === undefined) break;
    widths[shrinking] = (widths[shrinking] ?? 0) - 1;
  }
  return columns.map((column, i) => ({ ...column, shownWidth: widths[i] ?? 0 }));
}

/** The column to shrink next: the one that would be dropped first, and among equals the widest. */
function nextToShrink(columns: readonly MeasuredColumn[], widths: readonly number[]): number | undefined {
  const candidates = columns
    .map(({ dropPriority = 0 }, index) => ({ index, dropPriority, width: widths[index] ?? 0 }))
    .filter(({ index, width }) => canShrink(columns[index], width))
    .sort((a, b) => b.dropPriority - a.dropPriority || b.width - a.width);
  return candidates[0]?.index;
}

const canShrink = (column: MeasuredColumn | undefined, width: number): boolean =>
  column !== undefined && width > minWidthOf(column);

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
