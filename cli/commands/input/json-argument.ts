import { readFileSync } from 'node:fs';
import type { Doc } from '../../../lambda/checkpoints/document/document.ts';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { parseJson } from './parse-json.ts';

/** JSON from the command line, a file or standard input; undefined when there is none. */
export async function jsonArgument(
  terminal: Terminal,
  what: string,
  given: string | undefined,
  file: string | undefined,
): Promise<Doc | undefined> {
  if (given !== undefined && file !== undefined)
    throw new WaitstateError(
      'INVALID_INPUT',
      `The ${what} is given twice: as an argument, and by a file. Leave one out.`,
    );
  if (given === '-' || file === '-') return parseJson(await terminal.readInput(), 'Standard input');
  if (file !== undefined) return parseJson(readTextFile(file), `The file ${file}`);
  return given === undefined ? undefined : parseJson(given, `The ${what}`);
}

/** The text of a file that somebody named. */
export function readTextFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new WaitstateError('INVALID_INPUT', `The file ${file} cannot be read: ${(cause as Error).message}.`, {
      cause,
    });
  }
}
