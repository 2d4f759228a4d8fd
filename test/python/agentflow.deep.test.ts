import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { NotAvailableError } from '../not-available.ts';
import { installAgentflow } from './install-agentflow.ts';
import { PYTHON_FOLDER, pythonEnvironment } from './python.ts';

const TIMEOUT_MS = 600_000;

function tryInstall(): string | undefined {
  try {
    return installAgentflow();
  } catch (error) {
    if (!(error instanceof NotAvailableError)) throw error;
    console.log(`SKIPPED: Agentflow. It needs Python 3.12 with pip and venv, and PyPI. ${error.message}`);
    return undefined;
  }
}

const python = tryInstall();

describe.skipIf(python === undefined)('the checkpointer for Agentflow', () => {
  it(
    'passes its tests with the real package, on a local server',
    () => {
      const { status, stderr } = spawnSync(python ?? '', ['-m', 'unittest', 'tests.test_agentflow'], {
        cwd: PYTHON_FOLDER,
        env: pythonEnvironment(),
        encoding: 'utf8',
      });
      expect(status, stderr).toBe(0);
      expect(stderr).toMatch(/Ran 1\d tests/);
    },
    TIMEOUT_MS,
  );
});
