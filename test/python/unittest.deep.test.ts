import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { hasPython, PYTHON_FOLDER, pythonEnvironment } from './python.ts';

const TIMEOUT_MS = 600_000;

describe.skipIf(!hasPython())('the Python client', () => {
  it(
    'passes its own tests, which start local servers',
    () => {
      const { status, stderr } = spawnSync('python3', ['-m', 'unittest'], {
        cwd: PYTHON_FOLDER,
        env: pythonEnvironment(),
        encoding: 'utf8',
      });
      expect(status, stderr).toBe(0);
      console.log(`python3 -m unittest: ${stderr.trim().split('\n').slice(-3).join(' ').trim()}`);
    },
    TIMEOUT_MS,
  );
});
