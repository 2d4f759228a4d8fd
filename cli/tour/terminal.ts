import { bold, dim, type Line, styled, toSpans } from '../terminal/line.ts';
import { processTerminal } from '../terminal/process-terminal.ts';
import { formatTable } from '../terminal/table.ts';
import { wrapLine } from '../terminal/wrap-line.ts';

// The reader of the output may stop early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const terminal = processTerminal();
const INDENT = 4;

/** The width of the text below a heading. */
export const CONTENT_WIDTH = 80 - INDENT;

/** Prints a line without indentation. */
export const print = (line: Line): void => terminal.print(line);

/** Prints a numbered heading with explanation below it. */
export function heading(number: number, title: string, ...explanation: readonly string[]): void {
  terminal.print('', [' ', styled(['bold', 'cyan'], String(number)), '  ', bold(title)]);
  printIndented(...explanation.map(dim));
}

/** Prints indented lines below a heading. */
export function printIndented(...lines: readonly Line[]): void {
  terminal.print(...lines.map((line) => [' '.repeat(INDENT), ...toSpans(line)]));
}

/** Prints text, wrapped and indented. */
export const printWrapped = (text: string): void => printIndented(...wrapLine(text, CONTENT_WIDTH, 0));

/** Prints rows in columns; the first row is the header. */
export function printTable([header = [], ...rows]: readonly (readonly string[])[]): void {
  printIndented(
    ...formatTable(
      header.map((title, column) => ({ title, cell: (row: readonly string[]) => row[column] ?? '', minWidth: 8 })),
      rows,
      CONTENT_WIDTH,
    ),
  );
}
