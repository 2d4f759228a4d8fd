import { styleText } from 'node:util';

// Whoever reads the output may stop early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

type Style = Parameters<typeof styleText>[0];

/** Text in a style where standard output is a terminal that shows it, and NO_COLOR is unset. */
export const styled = (style: Style, text: string): string => styleText(style, text);

/** Prints a numbered heading with a line of explanation below it. */
export function heading(number: number, title: string, ...explanation: readonly string[]): void {
  console.log(`\n ${styled(['bold', 'cyan'], String(number))}  ${styled('bold', title)}`);
  for (const line of explanation) say(styled('dim', line));
}

/** Prints lines below a heading. */
export function say(...lines: readonly string[]): void {
  for (const line of lines) console.log(`    ${line}`);
}

const INDENT = 4;
const COLUMNS = 80;

/** Prints text over as many lines as it takes to fit the width of a terminal. */
export function sayWrapped(text: string): void {
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && INDENT + line.length + 1 + word.length > COLUMNS) {
      say(line);
      line = '';
    }
    line += (line === '' ? '' : ' ') + word;
  }
  say(line);
}

/** One line, cut where the terminal ends. */
export const fitted = (line: string, room = COLUMNS - INDENT): string =>
  line.length > room ? `${line.slice(0, room - 1)}…` : line;

/** Prints rows in columns as wide as what is in them; the first row is the header. */
export function table(rows: readonly (readonly string[])[]): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const [index, row] of rows.entries()) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    const line = fitted(cells.join('  ').trimEnd());
    say(index === 0 ? styled('dim', line) : line);
  }
}
