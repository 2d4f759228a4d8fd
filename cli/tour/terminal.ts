import { bold, dim, type Line, piecesOf, styled } from '../terminal/line.ts';
import { processTerminal } from '../terminal/process-terminal.ts';
import { prose } from '../terminal/prose.ts';
import { table } from '../terminal/table.ts';

// Whoever reads the output may stop early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const terminal = processTerminal();
const INDENT = 4;

/** What fits below a heading. */
export const ROOM = 80 - INDENT;

/** Prints a line as it is. */
export const print = (line: Line): void => terminal.say(line);

/** Prints a numbered heading with a line of explanation below it. */
export function heading(number: number, title: string, ...explanation: readonly string[]): void {
  terminal.say('', [' ', styled(['bold', 'cyan'], String(number)), '  ', bold(title)]);
  say(...explanation.map(dim));
}

/** Prints lines below a heading. */
export function say(...lines: readonly Line[]): void {
  terminal.say(...lines.map((line) => [' '.repeat(INDENT), ...piecesOf(line)]));
}

/** Prints text over as many lines as it takes. */
export const sayWrapped = (text: string): void => say(...prose(text, ROOM, 0));

/** Prints rows in columns; the first row is the header. */
export function sayTable([header = [], ...rows]: readonly (readonly string[])[]): void {
  say(
    ...table(
      header.map((title, column) => ({ title, cell: (row: readonly string[]) => row[column] ?? '', least: 8 })),
      rows,
      ROOM,
    ),
  );
}
