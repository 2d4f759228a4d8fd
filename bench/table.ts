export type Cell = string | number | undefined;

/** Formats a number for people: thousands separators, and no more digits than matter. */
export function formatNumber(value: Cell): string {
  if (value === undefined) return '–';
  if (typeof value === 'string') return value;
  if (!Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  const digits = Number.isInteger(value) || size >= 1000 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3;
  return value.toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: 0 });
}

/** Formats a number of bytes for people. */
export function formatBytes(value: number): string {
  if (value < 1000) return `${Math.round(value)} B`;
  if (value < 1e6) return `${formatNumber(value / 1e3)} KB`;
  return `${formatNumber(value / 1e6)} MB`;
}

/** A sentence with a table below it: aligned columns, numbers to the right. */
export function formatTable(sentence: string, columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = [columns, ...rows.map((row) => row.map(formatNumber))];
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)));
  const right = columns.map((_, at) => rows.some((row) => typeof row[at] === 'number'));
  const line = (row: readonly string[]) =>
    `  ${row.map((cell, at) => (right[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0))).join('  ')}`.trimEnd();
  const [head = [], ...body] = cells;
  const rule = `  ${widths.map((width) => '-'.repeat(width)).join('  ')}`;
  return ['', sentence, line(head), rule, ...body.map(line), ''].join('\n');
}

export const print = (text: string): void => void process.stdout.write(`${text}\n`);

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = low] = sorted.length % 2 ? [sorted[middle]] : [sorted[middle - 1], sorted[middle]];
  return (low + high) / 2;
}
