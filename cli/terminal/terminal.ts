import type { Line, Paint } from './line.ts';

/** The input and output of a command. */
export interface Terminal {
  /** The width in columns; infinite if the output is not a terminal. */
  readonly columns: number;
  readonly environment: NodeJS.ProcessEnv;
  now(): number;
  /** Prints lines on standard output. Control characters in them are escaped. */
  print(...lines: readonly Line[]): void;
  /** Prints lines on standard error: everything that is not the result itself. */
  printErr(...lines: readonly Line[]): void;
  /** Applies styles for standard output, if it supports them. */
  readonly paint: Paint;
  /** Writes text to standard output unchanged, for programs; resolves when the stream accepts more. */
  write(text: string): Promise<void>;
  /** Clears the screen, before a page is drawn again. Only if standard output is a terminal. */
  readonly clear?: () => void;
  /** Replaces the last line on standard error; undefined removes it. Only on a terminal. */
  readonly replaceLine?: (line: Line | undefined) => void;
  /** Asks a question and returns what the user types; undefined when they end the input. Only on a terminal. */
  readonly ask?: (question: Line) => Promise<string | undefined>;
  /** Reads all of standard input. */
  readInput(): Promise<string>;
  /** Opens a file in the user's editor and waits until it is closed. Only on a terminal. */
  readonly edit?: (file: string) => Promise<void>;
}
