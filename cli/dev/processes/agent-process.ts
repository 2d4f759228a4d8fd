import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ownFile } from '../agents/own-file.ts';
import type { Told } from './messages.ts';
import { linesOf } from './read-lines.ts';

/** How a process of agents ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** That it was ended from here: it did not answer any more, or took longer than it may. */
  readonly ended?: 'silent' | 'late';
}

/** A process with code of agents. */
export interface AgentProcess {
  readonly pid: number | undefined;
  /** Resolves when it is gone and all that it said was heard. */
  readonly over: Promise<ProcessEnd>;
  kill(): void;
}

export interface AgentProcessOptions {
  readonly program: keyof typeof PROGRAMS;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** How long it may be silent: it says every second that it is alive. */
  readonly silentMs: number;
  /** How long it may take altogether. */
  readonly mostMs: number;
  /** Hears what it tells the server, and what it prints. */
  hear(told: Told): void;
  print(line: string): void;
}

const PROGRAMS = { describe: 'cli/dev/agents/describe', invoke: 'cli/dev/processes/invoke' } as const;

const LEAVING_MS = 1_000;

/** Starts a process of its own for code of agents. */
export function agentProcess(options: AgentProcessOptions): AgentProcess {
  const { program, args, environment, silentMs, mostMs, hear, print } = options;
  const own = fileURLToPath(ownFile(PROGRAMS[program]));
  const child = spawn(process.execPath, [...nodeOptions(), own, ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced',
    // A group of its own, so that Ctrl-C reaches this process alone, and all that an agent starts can be ended with it.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  let ended: ProcessEnd['ended'];
  const kill = () => killGroup(child.pid);
  const endFor = (why: NonNullable<ProcessEnd['ended']>) => () => {
    ended ??= why;
    kill();
  };
  const silence = setTimeout(endFor('silent'), silentMs);
  const lateness = setTimeout(endFor('late'), mostMs);
  child.on('message', (message) => {
    silence.refresh();
    if (isTold(message)) hear(message);
  });
  for (const stream of [child.stdout, child.stderr]) if (stream) linesOf(stream, print);
  const over = new Promise<ProcessEnd>((resolve) => {
    let how: ProcessEnd = { code: null, signal: null };
    let leaving: NodeJS.Timeout | undefined;
    const end = () => {
      for (const timer of [silence, lateness, leaving]) clearTimeout(timer);
      resolve({ ...how, ...(ended && { ended }) });
    };
    child.on('error', () => child.pid === undefined && end());
    child.on('exit', (code, signal) => {
      how = { code, signal };
      // What it left running in its group goes with it; what went into another one may still hold its output.
      kill();
      leaving = setTimeout(() => {
        for (const stream of child.stdio) stream?.destroy();
      }, LEAVING_MS);
    });
    child.on('close', end);
  });
  return { pid: child.pid, over, kill };
}

/** Whether a message is one of ours: code of agents may send others. */
const isTold = (message: unknown): message is Told => typeof Object(message).tell === 'string';

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
