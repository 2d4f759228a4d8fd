import { dim, type Line, styled, type TextSpan } from '../../terminal/line.ts';
import type { LoadProblem } from '../agents/load-problem.ts';

/** Where the server says what happens. */
export interface DevLog {
  /** What happens to a run. */
  run(run: string, ...what: readonly TextSpan[]): void;
  /** What belongs to the line before. */
  detail(...what: readonly TextSpan[]): void;
  /** What an agent prints. */
  output(run: string, line: string): void;
  /** What happens to the server itself. */
  server(...what: readonly TextSpan[]): void;
  /** That a file of agents cannot be used. */
  problem(problem: LoadProblem): void;
}

// Ids that Waitstate makes have sixteen characters.
const RUN_WIDTH = 16;

/** A log of one line for each thing that happens: time, run, what. */
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

/** A path as short as it is from here. */
export function shortPath(file: string, cwd = process.cwd()): string {
  return file.startsWith(`${cwd}/`) ? file.slice(cwd.length + 1) : file;
}
