import { type AgentProcess, type AgentProcessOptions, startAgentProcess } from './agent-process.ts';
import { startReaper } from './reaper.ts';

/** All agent processes of a server. They end with the server, however it ends. */
export interface AgentProcesses {
  readonly isClosed: boolean;
  start(options: Omit<AgentProcessOptions, 'environment'>): AgentProcess;
  /** Kills all processes; no more are started. */
  killAll(): void;
}

export function createAgentProcesses(environment: NodeJS.ProcessEnv): AgentProcesses {
  const alive = new Set<AgentProcess>();
  const { add, remove, close } = startReaper();
  let isClosed = false;
  return {
    get isClosed() {
      return isClosed;
    },
    start(options) {
      if (isClosed) return NO_PROCESS;
      const started = startAgentProcess({ ...options, environment });
      const { pid } = started;
      alive.add(started);
      if (pid !== undefined) add(pid);
      void started.exited.then(() => {
        alive.delete(started);
        if (pid !== undefined && !isClosed) remove(pid);
      });
      return started;
    },
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
