import { type AgentProcessOptions, startAgentProcess } from './agent-process.ts';
import { type CommandProcessOptions, startCommandProcess } from './command-process.ts';
import { startReaper } from './reaper.ts';
import type { AgentProcess } from './supervise.ts';

/** All agent processes of a server. They end with the server, however it ends. */
export interface AgentProcesses {
  readonly isClosed: boolean;
  start(options: Omit<AgentProcessOptions, 'environment'>): AgentProcess;
  /** Starts a command of an agent in another language. */
  startCommand(options: Omit<CommandProcessOptions, 'environment'>): AgentProcess;
  /** Kills all processes; no more are started. */
  killAll(): void;
}

/** `commandEnvironment` is for commands, in addition to `environment`. */
export function createAgentProcesses(
  environment: NodeJS.ProcessEnv,
  commandEnvironment: NodeJS.ProcessEnv = {},
): AgentProcesses {
  const alive = new Set<AgentProcess>();
  const { add, remove, close } = startReaper();
  let isClosed = false;

  function track(started: AgentProcess): AgentProcess {
    const { pid } = started;
    alive.add(started);
    if (pid !== undefined) add(pid);
    void started.exited.then(() => {
      alive.delete(started);
      if (pid !== undefined && !isClosed) remove(pid);
    });
    return started;
  }

  return {
    get isClosed() {
      return isClosed;
    },
    start: (options) => (isClosed ? NO_PROCESS : track(startAgentProcess({ ...options, environment }))),
    startCommand: (options) =>
      isClosed
        ? NO_PROCESS
        : track(startCommandProcess({ ...options, environment: { ...environment, ...commandEnvironment } })),
    killAll() {
      isClosed = true;
      for (const each of alive) each.kill();
      close();
    },
  };
}

const NO_PROCESS: AgentProcess = {
  pid: undefined,
  exited: Promise.resolve({ code: null, signal: null }),
  kill: () => {},
};
