import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface RunOptions {
  /** Variables in addition to those of this process. */
  readonly environment: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** Receives each line of the output. */
  line(text: string): void;
}

/**
 * Runs a Node.js program of this repository and returns its exit code. It runs in its own process group, which Ctrl-C
 * does not reach, and ends when the signal aborts.
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  { environment, signal, line }: RunOptions,
): Promise<number> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [file, ...args], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
  });
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', line);
  const end = (): void => {
    // A negative id ends the whole process group.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
  };
  signal.addEventListener('abort', end);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    signal.throwIfAborted();
    return code ?? 1;
  } finally {
    signal.removeEventListener('abort', end);
  }
}
