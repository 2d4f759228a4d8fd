import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface Running {
  /** Set beside what this process has. */
  readonly environment: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  /** Hears each line of the output. */
  line(text: string): void;
}

/**
 * Runs a program of Node in this repository, and gives its exit code. It is in a group of its own: a Ctrl-C does not reach
 * it, so that what it does is ended when we say so.
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  { environment, signal, line }: Running,
): Promise<number> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [file, ...args], {
    ...{ cwd: ROOT, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
    env: { ...process.env, ...environment },
  });
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', line);
  const end = (): void => {
    // Minus: with all that it has started.
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
