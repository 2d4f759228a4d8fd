import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isWaitstateError } from '../../../lambda/core/errors.ts';
import { shellQuote } from '../../terminal/shell-quote.ts';
import { findUserFrame } from '../log/stack-location.ts';
import { findPackageJson } from './nearest-package.ts';

/** Why an agent file does not load. */
export interface LoadProblem {
  /** The file with the problem, which may be an imported one. */
  readonly file: string;
  readonly line?: number;
  readonly message: string;
  readonly advice?: string;
}

const COMPILE_ADVICE =
  'Node only strips types. Avoid enums, namespaces, parameter properties and JSX, or compile the file and name the .js file.';

/** Describes an error that was thrown while a file was loaded. */
export function toLoadProblem(file: string, thrown: unknown): LoadProblem {
  if (!(thrown instanceof Error)) return { file, message: `Loading the file throws ${String(thrown)}.` };
  const code: unknown = Object(thrown).code;
  const [message = ''] = thrown.message.split('\n');
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' || code === 'ERR_UNKNOWN_FILE_EXTENSION')
    return { ...locationOf(file, thrown), message: sentence, advice: COMPILE_ADVICE };
  if (!existsSync(file)) return { file, message: 'The file no longer exists.' };
  if (code === 'ERR_MODULE_NOT_FOUND') return { message: sentence, ...missingModule(file, message) };
  const wrong = wrongModuleType(thrown, locationOf(file, thrown));
  if (wrong) return wrong;
  const isPlain = thrown instanceof SyntaxError || isWaitstateError(thrown);
  return { ...locationOf(file, thrown), message: isPlain ? sentence : `${thrown.name}: ${sentence}` };
}

const locationOf = (file: string, { stack = '' }: Error): Pick<LoadProblem, 'file' | 'line'> =>
  findUserFrame(stack) ?? { file };

/** Node's errors for an ES module that is loaded as CommonJS. */
const MODULE_SYNTAX =
  /^(Cannot use (import statement|'import\.meta') outside a module|Unexpected token 'export'|await is only valid in async functions)/;

/** The problem of an ES module whose package.json says that it is CommonJS. */
function wrongModuleType(error: Error, { file, line }: Pick<LoadProblem, 'file' | 'line'>): LoadProblem | undefined {
  const [, extension] = /\.([jt]s)$/.exec(file) ?? [];
  const found = findPackageJson(file);
  if (!(error instanceof SyntaxError) || !extension || !found || !MODULE_SYNTAX.test(error.message)) return undefined;
  const other = basename(file).replace(/\.[jt]s$/, `.m${extension}`);
  const isHere = dirname(found) === process.cwd();
  const command = `npm pkg set type=module${isHere ? '' : ` --prefix ${shellQuote(dirname(found))}`}`;
  const message = `The file is an ES module, but its package.json says CommonJS. Run "${command}", or rename the file to ${other}.`;
  return { file, ...(line !== undefined && { line }), message };
}

/** The location of an import that was not found, and what to do. */
function missingModule(file: string, message: string): Omit<LoadProblem, 'message'> {
  const [, kind = '', missing = '', importer = file] =
    /^Cannot find (module|package) '(.+?)' imported from (.+)$/.exec(message) ?? [];
  const lines = existsSync(importer) ? readFileSync(importer, 'utf8').split('\n') : [];
  const line =
    lines.findIndex((text) => /\b(import|from|require)\b/.test(text) && text.includes(basename(missing))) + 1;
  const near = ['.ts', '.mts', '.js', '.mjs', '/index.ts'].find((extension) => existsSync(`${missing}${extension}`));
  const advice =
    kind === 'package'
      ? `Install it (npm install ${missing}). Paths in tsconfig.json are not supported.`
      : near && `Import the file with its extension: ${basename(missing)}${near}.`;
  return { file: importer, ...(line > 0 && { line }), ...(advice && { advice }) };
}
