// Installs the packages that only some scripts need, from the lock file of their folder, so that `npm ci` does not have
// to: node tools/install.mjs FOLDER… Plain JavaScript, because it also runs on versions of Node without TypeScript.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Installs a folder's packages unless its current lock file is installed already. `npmArgs` are added to `npm ci`. */
export function install(folder, ...npmArgs) {
  const path = resolve(ROOT, folder);
  const lock = readFileSync(join(path, 'package-lock.json'), 'utf8');
  const installed = join(path, 'node_modules', '.installed-lock.json');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lock) return;
  const { description } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  console.error(`Installing ${folder}: ${description}`);
  const args = ['ci', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error', ...npmArgs];
  const { status, error } = spawnSync('npm', args, {
    cwd: path,
    env: withoutNpmSettings(),
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0) {
    const reason = error ? error.message : `npm ci exited with code ${status}`;
    throw new Error(`The packages in ${folder} could not be installed: ${reason}. Try: npm ci --prefix ${folder}`);
  }
  writeFileSync(installed, lock);
}

// npm sets the settings of the script that it runs, such as the prefix, for nested npm processes too.
function withoutNpmSettings() {
  const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
  for (const name of ['npm_config_prefix', 'npm_config_local_prefix', 'npm_config_ignore_scripts']) delete env[name];
  return env;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) for (const folder of process.argv.slice(2)) install(folder);
