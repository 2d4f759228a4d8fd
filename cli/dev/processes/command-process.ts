import { spawn } from 'node:child_process';
import { type AgentProcess, OWN_GROUP, type SuperviseOptions, supervise } from './supervise.ts';

export interface CommandProcessOptions extends SuperviseOptions {
  /** A command line for the shell. */
  readonly command: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Sent as JSON on standard input, which then ends. */
  readonly input: object;
}

/** Starts a command of an agent in another language, with a request on its standard input. */
export function startCommandProcess(options: CommandProcessOptions): AgentProcess {
  const { command, environment, input } = options;
  const child = spawn(command, { shell: true, env: environment, stdio: ['pipe', 'pipe', 'pipe'], ...OWN_GROUP });
  // The command may exit without reading its input.
  child.stdin.on('error', () => {});
  child.stdin.end(`${JSON.stringify(input)}\n`);
  return supervise(child, options);
}
