import { dim, type Line, styled, type TextSpan } from '../../terminal/line.ts';
import type { LoadProblem } from '../agents/load-problem.ts';

/** The log of the local server. */
export interface DevLog {
  /** Logs what happens to a run. */
  run(run: string, ...what: readonly TextSpan[]): void;
  /** Adds a line to the entry before. */
  detail(...what: readonly TextSpan[]): void;
  /** Logs a line that an agent prints. */
  output(run: string, line: string): void;
  /** Logs what happens to the server itself. */
  server(...what: readonly TextSpan[]): void;
  /** Logs that an agent file cannot be used. */
  problem(problem: LoadProblem): void;
}

// Generated run ids have sixteen characters.
const RUN_WIDTH = 16;

/** Creates a log with one line for each event: time, run, event. */
export function createDevLog(print: (line: Line) => void, now: () => Date = () => new Date()): DevLog {
  const time = (): TextSpan => dim(now().toTimeString().slice(0, 8));
  const runColumn = (run: string): TextSpan => styled('cyan', run.padEnd(RUN_WIDTH));
  const server = (...what: readonly TextSpan[]) => print([time(), '  ', ...what]);
  return {
    run: (run, ...what) => print([time(), '  ', runColumn(run), '  ', ...what]),
    detail: (...what) => print(['          ', ...what]),
    output: (run, line) => print([time(), '  ', runColumn(run), dim('  │ '), line]),
    server,
    problem({ file, line, message, advice }) {
      const location = `${shortPath(file)}${line === undefined ? '' : `:${line}`}`;
      server(styled('red', location), `: ${withShortPaths(message)}`);
      if (advice !== undefined) print(['          ', advice]);
    },
  };
}

const withShortPaths = (text: string, cwd = process.cwd()): string => text.replaceAll(`${cwd}/`, '');

/** A path relative to the current directory, if it is inside of it. */
export function shortPath(file: string, cwd = process.cwd()): string {
  return file.startsWith(`${cwd}/`) ? file.slice(cwd.length + 1) : file;
}
