import { existsSync, globSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { WaitstateError } from '../../../lambda/core/errors.ts';

/** The agent files of a command line. */
export interface FoundFiles {
  readonly files: readonly string[];
  /** Test files that were named, also by a pattern that the shell expanded. They are not agents. */
  readonly tests: readonly string[];
}

/**
 * Finds the files of a command line: paths, and glob patterns that the shell did not expand, without tests. Throws if a
 * file does not exist, or if no agent file is left.
 */
export function findFiles(given: readonly string[], cwd: string): FoundFiles {
  const found = given.map((path) => ({ path, ...findPath(path, cwd) }));
  const all = [...new Set(found.flatMap(({ matches }) => matches))];
  const files = all.filter((file) => !isTest(file));
  const missing = files.find((file) => !existsSync(file) || !statSync(file).isFile());
  if (missing !== undefined) throw noAgentFile(`The file ${missing} does not exist.`);
  const tests = found.filter(({ path, isPattern }) => !isPattern && isTest(path)).map(({ path }) => path);
  if (files.length > 0 || given.length === 0) return { files, tests };
  if (tests.length > 0) throw noAgentFile(describeTests(tests));
  const patterns = found.filter(({ matches }) => matches.length > 0).map(({ path }) => path);
  if (patterns.length > 0)
    throw noAgentFile(`${patterns.join(' and ')} ${patterns.length === 1 ? 'matches' : 'match'} only tests.`);
  throw noAgentFile(`No file matches ${given.join(' or ')}.`);
}

/** Says that files are tests: `a.test.ts and b.test.ts are tests, not agents.` */
export const describeTests = (tests: readonly string[]): string =>
  `${tests.join(' and ')} ${tests.length === 1 ? 'is a test, not an agent' : 'are tests, not agents'}.`;

function findPath(path: string, cwd: string): { readonly isPattern: boolean; readonly matches: readonly string[] } {
  const absolute = resolve(cwd, path);
  if (existsSync(absolute) || !/[*?[{]/.test(path)) return { isPattern: false, matches: [absolute] };
  const matches = globSync(path, { cwd }).toSorted();
  return { isPattern: true, matches: matches.map((each) => resolve(cwd, each)) };
}

/** Whether a file is a test, which a pattern such as `agents/*.ts` also matches. */
const isTest = (file: string): boolean => /\.(test|spec)\.[cm]?[jt]sx?$/.test(file);

const noAgentFile = (problem: string): WaitstateError =>
  new WaitstateError('INVALID_INPUT', `${problem} Name your agent files, such as ./agents/*.ts.`);
