import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ownModule } from '../agents/own-file.ts';
import type { ProcessMessage } from './messages.ts';
import { readLines } from './read-lines.ts';

/** How a process of agents ended. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** That it was ended from here: it did not answer any more, or took longer than it may. */
  readonly killedFor?: 'silent' | 'late';
}

/** A process with code of agents. */
export interface AgentProcess {
  readonly pid: number | undefined;
  /** Resolves when it is gone and all that it said was heard. */
  readonly exited: Promise<ProcessExit>;
  kill(): void;
}

export interface AgentProcessOptions {
  readonly program: keyof typeof PROGRAMS;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** How long it may be silent: it says every second that it is alive. */
  readonly heartbeatTimeoutMs: number;
  /** How long it may take altogether. */
  readonly timeoutMs: number;
  /** Hears what it tells the server, and what it prints. */
  onMessage(message: ProcessMessage): void;
  onOutput(line: string): void;
}

const PROGRAMS = { describe: 'cli/dev/agents/describe', invoke: 'cli/dev/processes/invoke' } as const;

const OUTPUT_GRACE_MS = 1_000;

/** Starts a process of its own for code of agents. */
export function startAgentProcess(options: AgentProcessOptions): AgentProcess {
  const { program, args, environment, heartbeatTimeoutMs, timeoutMs, onMessage, onOutput } = options;
  const own = fileURLToPath(ownModule(PROGRAMS[program]));
  const child = spawn(process.execPath, [...nodeOptions(), own, ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced',
    // A group of its own, so that Ctrl-C reaches this process alone, and all that an agent starts can be ended with it.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  let killedFor: ProcessExit['killedFor'];
  const kill = () => killGroup(child.pid);
  const killFor = (why: NonNullable<ProcessExit['killedFor']>) => () => {
    killedFor ??= why;
    kill();
  };
  const heartbeatTimer = setTimeout(killFor('silent'), heartbeatTimeoutMs);
  const timeoutTimer = setTimeout(killFor('late'), timeoutMs);
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
      // What it left running in its group goes with it; what went into another one may still hold its output.
      kill();
      outputTimer = setTimeout(() => {
        for (const stream of child.stdio) stream?.destroy();
      }, OUTPUT_GRACE_MS);
    });
    child.on('close', end);
  });
  return { pid: child.pid, exited, kill };
}

/** Whether a message is one of ours: code of agents may send others. */
const isProcessMessage = (message: unknown): message is ProcessMessage => typeof Object(message).tell === 'string';

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}

/** What Node needs to be told so that it takes TypeScript as it is. */
function nodeOptions(): readonly string[] {
  const { typescript } = process.features as { readonly typescript?: string | false };
  return typescript ? [] : ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
}
