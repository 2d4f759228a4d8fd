import { existsSync, globSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { WaitstateError } from '../../../lambda/core/errors.ts';

/** The files that a command line names: paths, and patterns that no shell has replaced. */
export function findFiles(given: readonly string[], cwd: string): readonly string[] {
  const found = given.flatMap((path) => {
    const absolute = resolve(cwd, path);
    if (existsSync(absolute) || !/[*?[{]/.test(path)) return [absolute];
    return globSync(path, { cwd })
      .toSorted()
      .map((each) => resolve(cwd, each));
  });
  return [...new Set(found)];
}

/** Refuses a command line that names no file, or one that is not there. */
export function checkFiles(files: readonly string[], given: readonly string[]): void {
  const missing = files.find((file) => !existsSync(file) || !statSync(file).isFile());
  if (missing !== undefined)
    throw new WaitstateError(
      'INVALID_INPUT',
      `There is no file ${missing}. Name the files of your agents, such as ./agents/*.ts.`,
    );
  if (files.length > 0 || given.length === 0) return;
  throw new WaitstateError(
    'INVALID_INPUT',
    `No file is called ${given.join(' or ')}. Name the files of your agents, such as ./agents/*.ts.`,
  );
}
