import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Finds the package.json that applies to a file; undefined if there is none. */
export function findPackageJson(file: string): string | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const found = join(folder, 'package.json');
    if (existsSync(found)) return found;
    if (folder === dirname(folder)) return undefined;
  }
}
