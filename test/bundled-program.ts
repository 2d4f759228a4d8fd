import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { bundlePackage } from '../build/bundle-package.ts';
import { ROOT } from '../build/package-entries.ts';

const BUNDLES = join(ROOT, 'node_modules/.cache/waitstate/programs');
const TEST_PROGRAMS = ['test/cli/dev/child-serving', 'test/runtime/processes/child-invoking', 'cli/dev/server/serve'];
const SOURCES = ['package-lock.json', '{cli,lambda}/**/*.ts', ...TEST_PROGRAMS.map((name) => `${dirname(name)}/*.ts`)];
const DAY_MS = 86_400_000;

/**
 * The file to start for a program of the command or of a test, by the path of its source without extension. All programs
 * are bundled like the package, with the packages that they need: from the sources, a process would read hundreds of
 * files, which takes most of its time. They are bundled again when a source has changed.
 */
export async function bundledProgram(name: string): Promise<string> {
  bundle ??= findOrBundle();
  return join(await bundle, 'dist', `${name}.js`);
}

let bundle: Promise<string> | undefined;

async function findOrBundle(): Promise<string> {
  const folder = join(BUNDLES, sourcesHash());
  if (!existsSync(folder)) await bundlePrograms(folder);
  return folder;
}

function sourcesHash(): string {
  const hash = createHash('sha256').update(TEST_PROGRAMS.join());
  for (const file of globSync(SOURCES, { cwd: ROOT }).toSorted())
    hash.update(`${file}\n`).update(readFileSync(join(ROOT, file)));
  return hash.digest('hex').slice(0, 16);
}

async function bundlePrograms(folder: string): Promise<void> {
  mkdirSync(BUNDLES, { recursive: true });
  removeOldBundles();
  // Another test process may do the same at the same time, so a bundle gets its name when it is complete.
  const unfinished = mkdtempSync(`${folder}-`);
  copyFileSync(join(ROOT, 'package.json'), join(unfinished, 'package.json'));
  await bundlePackage(join(unfinished, 'dist'), { programs: TEST_PROGRAMS, external: ['aws-cdk-lib', 'constructs'] });
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(unfinished, { recursive: true });
  }
}

function removeOldBundles(): void {
  for (const folder of readdirSync(BUNDLES).map((name) => join(BUNDLES, name)))
    if (statSync(folder).mtimeMs < Date.now() - DAY_MS) rmSync(folder, { recursive: true, force: true });
}
