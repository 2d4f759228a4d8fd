import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NotAvailableError } from '../not-available.ts';

const REQUIREMENTS = fileURLToPath(new URL('./agentflow-requirements.txt', import.meta.url));
const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/waitstate/agentflow', import.meta.url));
const PROGRAMS = join(FOLDER, process.platform === 'win32' ? 'Scripts' : 'bin');

/** Installs Agentflow into a virtual environment, once for each version, and returns the path of its Python. */
export function installAgentflow(): string {
  const python = join(PROGRAMS, 'python');
  const requirements = readFileSync(REQUIREMENTS, 'utf8');
  const installed = join(FOLDER, 'installed.txt');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === requirements) return python;
  rmSync(FOLDER, { recursive: true, force: true });
  run(findPython(), '-m', 'venv', FOLDER);
  run(join(PROGRAMS, 'pip'), 'install', '--quiet', '--disable-pip-version-check', '-r', REQUIREMENTS);
  writeFileSync(installed, requirements);
  return python;
}

/** A Python that Agentflow supports: `python3`, or one that is installed beside it. */
function findPython(): string {
  const script = 'import sys; print(sys.executable); sys.exit(sys.version_info < (3, 12))';
  for (const [command, version] of [['python3'], ['python3.13', '3.13'], ['python3.12', '3.12']] as const) {
    // pyenv finds a version that is not its default only by this variable.
    const env = { ...process.env, ...(version && { PYENV_VERSION: version }) };
    const { status, stdout } = spawnSync(command, ['-c', script], { env, encoding: 'utf8' });
    if (status === 0) return stdout.trim();
  }
  throw new NotAvailableError('No Python 3.12 or later was found.');
}

function run(command: string, ...args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (error) throw new NotAvailableError(`${command} cannot be started: ${error.message}`);
  if (status !== 0) throw new NotAvailableError(`${command} failed: ${stderr.trim().split('\n').at(-1)}`);
}
