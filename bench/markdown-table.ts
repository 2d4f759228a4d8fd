/** A cell of a table in Markdown; numbers go to the right. */
export type MarkdownCell = string | number;

/** A table in Markdown, as the docs have it: what a program prints can be compared with what a page says. */
export function markdownTable(columns: readonly string[], rows: readonly (readonly MarkdownCell[])[]): string {
  const isNumber = columns.map((_, at) => rows.some((row) => at > 0 && typeof row[at] === 'number'));
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(columns),
    `|${isNumber.map((right) => (right ? '--:' : '---')).join('|')}|`,
    ...rows.map((row) => line(row.map(figure))),
  ].join('\n');
}

/** A number with thousands apart and three digits that count; what is next to nothing says so. */
export function figure(value: MarkdownCell): string {
  if (typeof value === 'string') return value;
  if (value === 0 || Math.abs(value) >= 100)
    return value.toLocaleString('en', {
      maximumFractionDigits: Math.abs(value) >= 1000 || Number.isInteger(value) ? 0 : 1,
    });
  return Math.abs(value) < 0.01 ? '< 0.01' : value.toLocaleString('en', { maximumSignificantDigits: 3 });
}
