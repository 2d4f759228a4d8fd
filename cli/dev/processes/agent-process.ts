import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ownModule } from '../agents/own-file.ts';
import type { ProcessMessage } from './messages.ts';
import { type AgentProcess, OWN_GROUP, type SuperviseOptions, supervise } from './supervise.ts';

export interface AgentProcessOptions extends SuperviseOptions {
  readonly program: keyof typeof PROGRAMS;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** How long it may be silent; it sends a heartbeat every second. */
  readonly heartbeatTimeoutMs: number;
  /** Called with each message to the server. */
  onMessage(message: ProcessMessage): void;
}

const PROGRAMS = { describe: 'cli/dev/agents/describe', invoke: 'cli/dev/processes/invoke' } as const;

/** Starts a process for agent code. */
export function startAgentProcess(options: AgentProcessOptions): AgentProcess {
  const { program, args, environment, heartbeatTimeoutMs, onMessage } = options;
  const own = fileURLToPath(ownModule(PROGRAMS[program]));
  const child = spawn(process.execPath, [...nodeOptions(), own, ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    serialization: 'advanced',
    ...OWN_GROUP,
  });
  const supervised = supervise(child, options);
  const heartbeatTimer = setTimeout(() => supervised.killFor('heartbeat'), heartbeatTimeoutMs);
  child.on('message', (message) => {
    heartbeatTimer.refresh();
    if (isProcessMessage(message)) onMessage(message);
  });
  void supervised.exited.then(() => clearTimeout(heartbeatTimer));
  return supervised;
}

/** Whether a message is one of ours; agent code may send others. */
const isProcessMessage = (message: unknown): message is ProcessMessage => typeof Object(message).waitstate === 'string';

/** The options with which this version of Node runs TypeScript. */
function nodeOptions(): readonly string[] {
  const { typescript } = process.features as { readonly typescript?: string | false };
  return typescript ? [] : ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
}
