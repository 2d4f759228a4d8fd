import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ownModule } from '../agents/own-file.ts';
import type { ProcessMessage } from './messages.ts';
import { readLines } from './read-lines.ts';

/** How an agent process ended. */
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

export interface AgentProcessOptions {
  readonly program: keyof typeof PROGRAMS;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** How long it may be silent; it sends a heartbeat every second. */
  readonly heartbeatTimeoutMs: number;
  /** How long it may run in total. */
  readonly timeoutMs: number;
  /** Called with each message to the server. */
  onMessage(message: ProcessMessage): void;
  /** Called with each line that the process prints. */
  onOutput(line: string): void;
}

const PROGRAMS = { describe: 'cli/dev/agents/describe', invoke: 'cli/dev/processes/invoke' } as const;

const OUTPUT_GRACE_MS = 1_000;

/** Starts a process for agent code. */
export function startAgentProcess(options: AgentProcessOptions): AgentProcess {
  const { program, args, environment, heartbeatTimeoutMs, timeoutMs, onMessage, onOutput } = options;
  const own = fileURLToPath(ownModule(PROGRAMS[program]));
  const child = spawn(process.execPath, [...nodeOptions(), own, ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced',
    // A new process group: Ctrl-C reaches only the server, and everything that an agent starts can be killed with it.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  let killedFor: ProcessExit['killedFor'];
  const kill = () => killGroup(child.pid);
  const killFor = (why: NonNullable<ProcessExit['killedFor']>) => () => {
    killedFor ??= why;
    kill();
  };
  const heartbeatTimer = setTimeout(killFor('heartbeat'), heartbeatTimeoutMs);
  const timeoutTimer = setTimeout(killFor('timeout'), timeoutMs);
  child.on('message', (message) => {
    heartbeatTimer.refresh();
    if (isProcessMessage(message)) onMessage(message);
  });
  for (const stream of [child.stdout, child.stderr]) if (stream) readLines(stream, onOutput);
  const exited = new Promise<ProcessExit>((resolve) => {
    let exit: ProcessExit = { code: null, signal: null };
    let outputTimer: NodeJS.Timeout | undefined;
    const end = () => {
      for (const timer of [heartbeatTimer, timeoutTimer, outputTimer]) clearTimeout(timer);
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
  return { pid: child.pid, exited, kill };
}

/** Whether a message is one of ours; agent code may send others. */
const isProcessMessage = (message: unknown): message is ProcessMessage => typeof Object(message).waitstate === 'string';

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // The process is already gone.
  }
}

/** The options with which this version of Node runs TypeScript. */
function nodeOptions(): readonly string[] {
  const { typescript } = process.features as { readonly typescript?: string | false };
  return typescript ? [] : ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
}
