import { copyFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundlePackage } from '../build/bundle-package.ts';
import { ROOT } from '../build/package-entries.ts';
import { cachedFolder } from './cached-folder.ts';

const TEST_PROGRAMS = ['test/cli/dev/child-serving', 'test/runtime/processes/child-invoking', 'cli/dev/server/serve'];

/**
 * The file to start for a program of the command or of a test, by the path of its source without extension. All programs
 * are bundled like the package, with the packages that they need: from the sources, a process would read hundreds of
 * files, which takes most of its time. They are bundled again when a source has changed.
 */
export async function bundledProgram(name: string): Promise<string> {
  bundle ??= cachedFolder({
    name: 'programs',
    sources: [
      'test/bundled-program.ts',
      '{build,cli,lambda}/**/*.ts',
      ...TEST_PROGRAMS.map((program) => `${dirname(program)}/*.ts`),
    ],
    make: bundlePrograms,
  });
  return join(await bundle, 'dist', `${name}.js`);
}

let bundle: Promise<string> | undefined;

async function bundlePrograms(folder: string): Promise<void> {
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await bundlePackage(join(folder, 'dist'), { programs: TEST_PROGRAMS, external: ['aws-cdk-lib', 'constructs'] });
}
