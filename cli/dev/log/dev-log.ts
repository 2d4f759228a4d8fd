import { dim, type Line, type Piece, styled } from '../../terminal/line.ts';
import type { LoadProblem } from '../agents/load-problem.ts';

/** Where the server says what happens. */
export interface DevLog {
  /** What happens to a run. */
  run(run: string, ...what: readonly Piece[]): void;
  /** What belongs to the line before. */
  below(...what: readonly Piece[]): void;
  /** What an agent prints. */
  printed(run: string, line: string): void;
  /** What happens to the server itself. */
  server(...what: readonly Piece[]): void;
  /** That a file of agents cannot be used. */
  problem(problem: LoadProblem): void;
}

// Ids that Waitstate makes have sixteen characters.
const RUN_WIDTH = 16;

/** A log of one line for each thing that happens: time, run, what. */
export function devLog(say: (line: Line) => void, now: () => Date = () => new Date()): DevLog {
  const time = (): Piece => dim(now().toTimeString().slice(0, 8));
  const of = (run: string): Piece => styled('cyan', run.padEnd(RUN_WIDTH));
  const server = (...what: readonly Piece[]) => say([time(), '  ', ...what]);
  return {
    run: (run, ...what) => say([time(), '  ', of(run), '  ', ...what]),
    below: (...what) => say(['          ', ...what]),
    printed: (run, line) => say([time(), '  ', of(run), dim('  │ '), line]),
    server,
    problem({ file, line, message, advice }) {
      const place = `${shortPath(file)}${line === undefined ? '' : `:${line}`}`;
      server(styled('red', place), `: ${withShortPaths(message)}`);
      if (advice !== undefined) say(['          ', advice]);
    },
  };
}

const withShortPaths = (text: string, cwd = process.cwd()): string => text.replaceAll(`${cwd}/`, '');

/** A path as short as it is from here. */
export function shortPath(file: string, cwd = process.cwd()): string {
  return file.startsWith(`${cwd}/`) ? file.slice(cwd.length + 1) : file;
}
