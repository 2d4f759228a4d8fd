import { fileURLToPath } from 'node:url';
import { isOwnCode } from '../agents/own-file.ts';

/** A line of code. */
export interface CodeLocation {
  readonly file: string;
  readonly line: number;
}

/** Where an error points: the line that a syntax error begins with, or the first frame in code of the user. */
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

/** The path of a URL; that of another machine may be none here. */
function toPath(url: string): string {
  try {
    return fileURLToPath(url);
  } catch {
    return '';
  }
}
