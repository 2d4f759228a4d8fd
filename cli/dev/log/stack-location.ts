import { fileURLToPath } from 'node:url';
import { isOwnCode } from '../agents/own-file.ts';

/** A line in a source file. */
export interface CodeLocation {
  readonly file: string;
  readonly line: number;
}

/** The location of an error: the line in the first line of a syntax error, or the first frame in the user's code. */
export function findUserFrame(stack: string): CodeLocation | undefined {
  const [head = '', ...rest] = stack.split('\n');
  for (const frame of [head, ...rest.filter((line) => /^\s+at /.test(line))]) {
    const [, path = '', line] =
      /(?:^|\(|at |async )((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?):(\d+)(?::\d+)?\)?$/.exec(frame) ?? [];
    const file = path.startsWith('file:') ? toPath(path) : path;
    if (file !== '' && !/[\\/]node_modules[\\/]/.test(file) && !isOwnCode(file)) return { file, line: Number(line) };
  }
  return undefined;
}

/** The path of a file URL; empty if the URL has no path on this machine. */
function toPath(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return '';
  }
}
