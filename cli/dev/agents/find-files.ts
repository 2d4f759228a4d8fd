import { existsSync, globSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { WaitstateError } from '../../../lambda/core/errors.ts';

/** Finds the files of a command line: paths, and glob patterns that the shell did not expand. */
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

/** Throws if a file does not exist, or if the patterns match no file. */
export function checkFiles(files: readonly string[], given: readonly string[]): void {
  const missing = files.find((file) => !existsSync(file) || !statSync(file).isFile());
  if (missing !== undefined)
    throw new WaitstateError(
      'INVALID_INPUT',
      `The file ${missing} does not exist. Name your agent files, such as ./agents/*.ts.`,
    );
  if (files.length > 0 || given.length === 0) return;
  throw new WaitstateError(
    'INVALID_INPUT',
    `No file matches ${given.join(' or ')}. Name your agent files, such as ./agents/*.ts.`,
  );
}
