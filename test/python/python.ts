import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The folder of the Python client. */
export const PYTHON_FOLDER = fileURLToPath(new URL('../../python', import.meta.url));

/** Whether Python 3.9 or later is installed. If not, it says that the tests of the Python client are skipped. */
export function hasPython(): boolean {
  const script = 'import sys; sys.exit(sys.version_info < (3, 9))';
  const { status } = spawnSync('python3', ['-c', script], { stdio: 'ignore' });
  if (status !== 0) console.log('SKIPPED: the Python client. It needs python3, version 3.9 or later.');
  return status === 0;
}

/** The environment of a Python program that uses the client. */
export const pythonEnvironment = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  PYTHONPATH: PYTHON_FOLDER,
  PYTHONDONTWRITEBYTECODE: '1',
  WAITSTATE_NODE: process.execPath,
  ...more,
});
