import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isHoldpointError } from '../../lambda/core/errors.ts';
import { isOwnCode } from './own-file.ts';

/** Why the file of an agent cannot be used. */
export interface LoadProblem {
  /** Where it is, which may be in what the file imports. */
  readonly file: string;
  readonly line?: number;
  readonly message: string;
  readonly advice?: string;
}

const COMPILE =
  'Node only strips types. Write it without what must be compiled (enums, namespaces, parameter properties, JSX), or compile it first and name the .js file.';

/** What an error says that came up while a file was loaded. */
export function loadProblem(file: string, thrown: unknown): LoadProblem {
  if (!(thrown instanceof Error)) return { file, message: `It throws ${String(thrown)} when it is loaded.` };
  const code: unknown = Object(thrown).code;
  const [message = ''] = thrown.message.split('\n');
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' || code === 'ERR_UNKNOWN_FILE_EXTENSION')
    return { ...placeOf(file, thrown), message: sentence, advice: COMPILE };
  if (!existsSync(file)) return { file, message: 'It is no longer there.' };
  if (code === 'ERR_MODULE_NOT_FOUND') return { message: sentence, ...notFound(file, message) };
  const isPlain = thrown instanceof SyntaxError || isHoldpointError(thrown);
  return { ...placeOf(file, thrown), message: isPlain ? sentence : `${thrown.name}: ${sentence}` };
}

/** Where an error points: the line that a syntax error begins with, or the first frame in code of the user. */
function placeOf(file: string, { stack = '' }: Error): Pick<LoadProblem, 'file' | 'line'> {
  const [head = ''] = stack.split('\n');
  const frames = [head, ...stack.split('\n').filter((line) => /^\s+at /.test(line))];
  for (const frame of frames) {
    const [, path = '', line] =
      /(?:^|\(|at |async )((?:file:\/\/|\/|[A-Za-z]:\\)[^()]*?):(\d+)(?::\d+)?\)?$/.exec(frame) ?? [];
    const found = path.startsWith('file:') ? fileURLToPath(path) : path;
    const isTheirs = found !== '' && !/[\\/]node_modules[\\/]/.test(found) && !isOwnCode(found);
    if (isTheirs) return { file: found, line: Number(line) };
  }
  return { file };
}

/** Who imports what is not there, and what to do. */
function notFound(file: string, message: string): Omit<LoadProblem, 'message'> {
  const [, kind = '', missing = '', importer = file] =
    /^Cannot find (module|package) '(.+?)' imported from (.+)$/.exec(message) ?? [];
  const lines = existsSync(importer) ? readFileSync(importer, 'utf8').split('\n') : [];
  const line =
    lines.findIndex((text) => /\b(import|from|require)\b/.test(text) && text.includes(basename(missing))) + 1;
  const near = ['.ts', '.mts', '.js', '.mjs', '/index.ts'].find((extension) => existsSync(`${missing}${extension}`));
  const advice =
    kind === 'package'
      ? `Install it (npm install ${missing}); names that only tsconfig.json knows are not followed.`
      : near && `Name the file with its extension: ${basename(missing)}${near}.`;
  return { file: importer, ...(line > 0 && { line }), ...(advice && { advice }) };
}
