import { type AgentProcess, type AgentProcessOptions, agentProcess } from './agent-process.ts';

/** All processes with code of agents that a server has. */
export interface AgentProcesses {
  start(options: Omit<AgentProcessOptions, 'environment'>): AgentProcess;
  /** Ends all at once; none is started any more. */
  end(): void;
  readonly isOver: boolean;
}

export function agentProcesses(environment: NodeJS.ProcessEnv): AgentProcesses {
  const alive = new Set<AgentProcess>();
  let isOver = false;
  return {
    start(options) {
      if (isOver) return NOBODY;
      const started = agentProcess({ ...options, environment });
      alive.add(started);
      void started.over.then(() => alive.delete(started));
      return started;
    },
    end() {
      isOver = true;
      for (const each of alive) each.kill();
    },
    get isOver() {
      return isOver;
    },
  };
}

const NOBODY: AgentProcess = { pid: undefined, over: Promise.resolve({ code: null, signal: null }), kill: () => {} };
