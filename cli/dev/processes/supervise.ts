import type { ChildProcess } from 'node:child_process';
import { readLines } from './read-lines.ts';

/** How a process ended. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why the server killed it: it did not respond, or it exceeded its time limit. */
  readonly killedFor?: 'heartbeat' | 'timeout';
}

/** A process that runs agent code. */
export interface AgentProcess {
  readonly pid: number | undefined;
  /** Resolves when the process is gone and all its messages and output are read. */
  readonly exited: Promise<ProcessExit>;
  kill(): void;
}

export interface SuperviseOptions {
  /** How long it may run in total. */
  readonly timeoutMs: number;
  /** Called with each line that the process prints. */
  onOutput(line: string): void;
}

/**
 * Options of `spawn`: a new process group, so that Ctrl-C reaches only the server, and everything that an agent starts can
 * be killed with it.
 */
export const OWN_GROUP = { detached: process.platform !== 'win32', windowsHide: true } as const;

const OUTPUT_GRACE_MS = 1_000;

/** Reads the output of a process with its own group, and kills it at its time limit. */
export function supervise(
  child: ChildProcess,
  { timeoutMs, onOutput }: SuperviseOptions,
): AgentProcess & { killFor(why: NonNullable<ProcessExit['killedFor']>): void } {
  let killedFor: ProcessExit['killedFor'];
  const kill = () => killGroup(child.pid);
  const killFor = (why: NonNullable<ProcessExit['killedFor']>) => {
    killedFor ??= why;
    kill();
  };
  const timeoutTimer = setTimeout(() => killFor('timeout'), timeoutMs);
  for (const stream of [child.stdout, child.stderr]) if (stream) readLines(stream, onOutput);
  const exited = new Promise<ProcessExit>((resolve) => {
    let exit: ProcessExit = { code: null, signal: null };
    let outputTimer: NodeJS.Timeout | undefined;
    const end = () => {
      for (const timer of [timeoutTimer, outputTimer]) clearTimeout(timer);
      resolve({ ...exit, ...(killedFor && { killedFor }) });
    };
    child.on('error', () => child.pid === undefined && end());
    child.on('exit', (code, signal) => {
      exit = { code, signal };
      // Kill what it left running in its group. A process that left the group may still hold its output open.
      kill();
      outputTimer = setTimeout(() => {
        for (const stream of child.stdio) stream?.destroy();
      }, OUTPUT_GRACE_MS);
    });
    child.on('close', end);
  });
  return { pid: child.pid, exited, kill, killFor };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // The process is already gone.
  }
}
