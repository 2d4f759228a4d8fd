import type { WorkerEvents } from '../../../lambda/http/app-options.ts';
import { dim, styled } from '../../terminal/line.ts';
import type { DevLog } from '../log/dev-log.ts';

/** The agents whose runs workers claim: processes in any language that ask the server for runs. */
export interface WorkerAgents extends WorkerEvents {
  has(agent: string): boolean;
  names(): readonly string[];
}

/** Remembers the agents that workers ask for, and logs the runs that workers get. */
export function createWorkerAgents(log: DevLog): WorkerAgents {
  const agents = new Set<string>();
  return {
    has: (agent) => agents.has(agent),
    names: () => [...agents],
    onAsk(asked, worker = 'worker') {
      const added = asked.filter((agent) => !agents.has(agent));
      for (const agent of added) agents.add(agent);
      if (added.length > 0) log.server(`Worker ${worker} runs `, styled('bold', added.join(', ')));
    },
    onClaim({ run, agent, version, status }, worker = 'worker') {
      const text = status === 'ENDING' ? 'ends' : version === FIRST_CLAIM ? `starts: ${agent}` : 'resumes';
      log.run(run, text, dim(` (${worker})`));
    },
  };
}

// The first checkpoint of a run has its input, and the second one is its first claim.
const FIRST_CLAIM = 2;
