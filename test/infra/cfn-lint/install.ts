import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NotAvailableError } from '../../not-available.ts';

const REQUIREMENTS = fileURLToPath(new URL('./requirements.txt', import.meta.url));
const FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/waitstate/cfn-lint', import.meta.url));
const PROGRAMS = join(FOLDER, process.platform === 'win32' ? 'Scripts' : 'bin');

/** Installs cfn-lint into a virtual environment, once for each version, and returns the path of its program. */
export function installCfnLint(): string {
  const program = join(PROGRAMS, 'cfn-lint');
  const requirements = readFileSync(REQUIREMENTS, 'utf8');
  const installed = join(FOLDER, 'installed.txt');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === requirements) return program;
  rmSync(FOLDER, { recursive: true, force: true });
  run('python3', '-m', 'venv', FOLDER);
  run(
    join(PROGRAMS, 'pip'),
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--require-hashes',
    '-r',
    REQUIREMENTS,
  );
  writeFileSync(installed, requirements);
  return program;
}

function run(command: string, ...args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error) throw new NotAvailableError(`${command} cannot be started: ${error.message}`);
  if (status !== 0) throw new NotAvailableError(`${command} failed: ${stderr.trim().split('\n').at(-1)}`);
}
