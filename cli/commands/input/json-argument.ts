import { readFileSync } from 'node:fs';
import type { Doc } from '../../../lambda/checkpoints/engine.ts';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { parseJson } from './parse-json.ts';

/** Reads JSON from the command line, a file or standard input; undefined if neither is given. */
export async function jsonArgument(
  terminal: Terminal,
  name: string,
  argument: string | undefined,
  file: string | undefined,
): Promise<Doc | undefined> {
  if (argument !== undefined && file !== undefined)
    throw new WaitstateError('INVALID_INPUT', `Pass the ${name} either as an argument or as a file, not both.`);
  if (argument === '-' || file === '-') return parseJson(await terminal.readInput(), 'Standard input');
  if (file !== undefined) return parseJson(readTextFile(file), `The file ${file}`);
  return argument === undefined ? undefined : parseJson(argument, `The ${name}`);
}

/** Reads a text file that the user named. */
export function readTextFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new WaitstateError('INVALID_INPUT', `The file ${file} cannot be read: ${(cause as Error).message}.`, {
      cause,
    });
  }
}
