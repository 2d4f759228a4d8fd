import { existsSync, globSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { WaitstateError } from '../../../lambda/core/errors.ts';

/** Finds the files of a command line: paths, and glob patterns that the shell did not expand. Tests are no agents. */
export function findFiles(given: readonly string[], cwd: string): readonly string[] {
  const found = given.flatMap((path) => {
    const absolute = resolve(cwd, path);
    if (existsSync(absolute) || !/[*?[{]/.test(path)) return [absolute];
    return globSync(path, { cwd })
      .toSorted()
      .map((each) => resolve(cwd, each));
  });
  return [...new Set(found)].filter((file) => !isTest(file));
}

/** Whether a file is a test, which a pattern such as `agents/*.ts` also matches. */
const isTest = (file: string): boolean => /\.(test|spec)\.[cm]?[jt]sx?$/.test(file);

/** Throws if a file does not exist, or if the patterns match no file. */
export function checkFiles(files: readonly string[], given: readonly string[]): void {
  const missing = files.find((file) => !existsSync(file) || !statSync(file).isFile());
  if (missing !== undefined)
    throw new WaitstateError(
      'INVALID_INPUT',
      `The file ${missing} does not exist. Name your agent files, such as ./agents/*.ts.`,
    );
  if (files.length > 0 || given.length === 0) return;
  if (given.some(isTest))
    throw new WaitstateError(
      'INVALID_INPUT',
      `${given.filter(isTest).join(' and ')} ${given.filter(isTest).length === 1 ? 'is a test' : 'are tests'}, not an agent. Name your agent files, such as ./agents/*.ts.`,
    );
  throw new WaitstateError(
    'INVALID_INPUT',
    `No file matches ${given.join(' or ')}. Name your agent files, such as ./agents/*.ts.`,
  );
}
