import { execFileSync } from 'node:child_process';

/** The files that git tracks below the given folders, or all of them. */
export const trackedFiles = (...folders: readonly string[]): readonly string[] =>
  execFileSync('git', ['ls-files', '-z', ...folders], { encoding: 'utf8' })
    .split('\0')
    .filter(Boolean);
