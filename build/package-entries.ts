import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the repository. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The part of `package.json` that the build reads. */
export const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly name: string;
  readonly exports: Readonly<Record<string, { readonly default?: string }>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
};

/** The public entries: the path of each source without extension, by the name that people import. */
export const ENTRIES: ReadonlyMap<string, string> = new Map(
  Object.entries(MANIFEST.exports).flatMap(([key, { default: file }]) =>
    file ? [[MANIFEST.name + key.slice(1), file.replace(/^\.\/dist\/(.*)\.js$/, '$1')] as const] : [],
  ),
);
