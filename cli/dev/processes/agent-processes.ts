import { type AgentProcess, type AgentProcessOptions, agentProcess } from './agent-process.ts';
import { reaper } from './reaper.ts';

/** All processes with code of agents that a server has. They end with it, however it ends. */
export interface AgentProcesses {
  readonly isOver: boolean;
  start(options: Omit<AgentProcessOptions, 'environment'>): AgentProcess;
  /** Ends all at once; none is started any more. */
  end(): void;
}

export function agentProcesses(environment: NodeJS.ProcessEnv): AgentProcesses {
  const alive = new Set<AgentProcess>();
  const { add, remove, close } = reaper();
  let isOver = false;
  return {
    get isOver() {
      return isOver;
    },
    start(options) {
      if (isOver) return NOBODY;
      const started = agentProcess({ ...options, environment });
      const { pid } = started;
      alive.add(started);
      if (pid !== undefined) add(pid);
      void started.over.then(() => {
        alive.delete(started);
        if (pid !== undefined && !isOver) remove(pid);
      });
      return started;
    },
    end() {
      isOver = true;
      for (const each of alive) each.kill();
      close();
    },
  };
}

const NOBODY: AgentProcess = { pid: undefined, over: Promise.resolve({ code: null, signal: null }), kill: () => {} };
