/** A cell of a Markdown table; numbers are right-aligned. */
export type MarkdownCell = string | number;

/** A table of a docs page with its heading, and a sentence below it if the page states a figure there. */
export interface Section {
  readonly title: string;
  readonly table: string;
  readonly sentence?: string;
}

/** Formats a Markdown table exactly as the docs contain it, so that printed tables can be compared with pages. */
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

/** Formats a number with thousands separators and three significant digits; values below 0.01 become "< 0.01". */
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

/** Formats dollars to the cent; amounts below ten cents get two significant digits. */
export const formatMoney = (value: number): string =>
  `$${value.toLocaleString(
    'en',
    value > 0 && value < 0.1 ? { maximumSignificantDigits: 2 } : { minimumFractionDigits: 2, maximumFractionDigits: 2 },
  )}`;

/** Formats a range of amounts: "$0.65–1.27". */
export const formatMoneyRange = (least: number, most: number): string =>
  `${formatMoney(least)}–${formatMoney(most).slice(1)}`;
