import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { bundlePackage } from '../../build/bundle-package.ts';
import { ROOT } from '../../build/package-entries.ts';
import { bundleHandlers } from '../../infra/handlers/bundle.ts';

const run = promisify(execFile);

/** The TypeScript compiler, a script for `process.execPath`. */
export const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');

/** For the compiler: memory is collected less often, which saves a fifth of its processor time. */
export const TSC_ENVIRONMENT = { ...process.env, GOGC: '400' };

/** The packages that npm installs with Waitstate. */
export const DEPENDENCIES = ['zod', 'hono', 'commander', '@hono', 'aws4fetch', 'string-width'];

const folders: string[] = [];

/** Creates a folder that `removeTemporaryFolders` removes. */
export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'waitstate-package-')));
  folders.push(folder);
  return folder;
}

export function removeTemporaryFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Writes the declarations of the public entries into a folder, without checking types. */
export async function emitDeclarations(folder: string): Promise<void> {
  const args = ['-p', join(ROOT, 'tsconfig.build.json'), '--noCheck', '--outDir', folder, '--singleThreaded'];
  await run(process.execPath, [tsc, ...args], { env: TSC_ENVIRONMENT });
}

/** Builds and packs the package as for npm; returns the path of the tarball. Does not touch `dist/` of the repository. */
export async function packPackage(): Promise<string> {
  const folder = temporaryFolder();
  const dist = join(folder, 'dist');
  for (const file of ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'llms.txt'])
    copyFileSync(join(ROOT, file), join(folder, file));
  await Promise.all([emitDeclarations(dist), bundlePackage(dist), bundleHandlers(join(dist, 'functions'))]);
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--silent'], { cwd: folder });
  return join(folder, stdout.trim());
}

/** Creates a project that has installed the tarball and links to other packages of the repository. */
export async function createProject(
  tarball: string,
  packages: readonly string[],
  files: Readonly<Record<string, string>>,
): Promise<string> {
  const folder = temporaryFolder();
  const modules = join(folder, 'node_modules');
  const installed = join(modules, 'waitstate');
  mkdirSync(installed, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  for (const name of packages) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name), 'dir');
  }
  for (const [name, text] of Object.entries({ 'package.json': '{"name":"mine","type":"module"}', ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
