/** A cell of a table in Markdown; numbers go to the right. */
export type MarkdownCell = string | number;

/** A table of a page in the docs, what it is of, and what is to be said of it where that has a figure. */
export interface Section {
  readonly title: string;
  readonly table: string;
  readonly sentence?: string;
}

/** A table in Markdown, as the docs have it: what a program prints can be compared with what a page says. */
export function markdownTable(columns: readonly string[], rows: readonly (readonly MarkdownCell[])[]): string {
  const isRight = columns.map((_, at) => at > 0 && rows.some((row) => isFigure(row[at] ?? '')));
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns),
    `|${isRight.map((right) => (right ? '--:' : '---')).join('|')}|`,
    ...rows.map((row) => line(row.map(formatFigure))),
  ].join('\n');
}

const isFigure = (cell: MarkdownCell): boolean => typeof cell === 'number' || /^\**[$\d]/.test(cell);

/** A number with thousands apart and three digits that count; what is next to nothing says so. */
export function formatFigure(value: MarkdownCell): string {
  if (typeof value === 'string') return value;
  const size = Math.abs(value);
  if (size !== 0 && size < 0.01) return '< 0.01';
  const digits = size >= 1000 || Number.isInteger(value) ? 0 : size >= 100 ? 1 : undefined;
  return value.toLocaleString(
    'en',
    digits === undefined ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: digits },
  );
}

/** Dollars to the cent; what is less than ten of them, to two digits that count. */
export const formatMoney = (value: number): string =>
  `$${value.toLocaleString(
    'en',
    value > 0 && value < 0.1 ? { maximumSignificantDigits: 2 } : { minimumFractionDigits: 2, maximumFractionDigits: 2 },
  )}`;

/** From so much to so much. */
export const formatMoneyRange = (least: number, most: number): string =>
  `${formatMoney(least)}–${formatMoney(most).slice(1)}`;
