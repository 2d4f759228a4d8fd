import type { Line, Paint } from './line.ts';

/** What a command shows itself on, and hears people through. */
export interface Terminal {
  /** How wide it is; without end where the output is no terminal. */
  readonly columns: number;
  readonly environment: NodeJS.ProcessEnv;
  now(): number;
  /** Lines on standard output. Whatever is in them, it cannot steer the terminal. */
  print(...lines: readonly Line[]): void;
  /** Lines on standard error: what is not the answer itself. */
  printErr(...lines: readonly Line[]): void;
  /** Makes styles visible on standard output, where it shows any. */
  readonly paint: Paint;
  /** Text on standard output as it is, for programs; resolves when there is room for more. */
  write(text: string): Promise<void>;
  /** A line on standard error in the place of the one before; undefined takes it away. Only on a terminal. */
  readonly replaceLine?: (line: Line | undefined) => void;
  /** What somebody types in answer to a question; undefined when they end the input. Only on a terminal. */
  readonly ask?: (question: Line) => Promise<string | undefined>;
  /** Everything on standard input. */
  readInput(): Promise<string>;
  /** Opens a file in the editor of whoever sits there, and waits until it is closed. Only on a terminal. */
  readonly edit?: (file: string) => Promise<void>;
}
