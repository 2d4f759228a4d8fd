import { pathToFileURL } from 'node:url';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import type { AnyAgent } from '../../../lambda/runtime/agent/agent.ts';

/** Imports a file and returns the agents that it exports, by their names. */
export async function loadAgents(file: string): Promise<ReadonlyMap<string, AnyAgent>> {
  const exported = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  const agents = new Map<string, AnyAgent>();
  for (const agent of new Set(Object.values(exported).filter(isAgent))) {
    if (agents.has(agent.name))
      throw agentMisused(`The file exports two agents with the name "${agent.name}". Rename one.`);
    agents.set(agent.name, agent);
  }
  if (agents.size === 0)
    throw agentMisused(
      'The file exports no agent. Export the result of agent({ … }), such as `export const travel = agent({ … })`.',
    );
  return agents;
}

// Not with instanceof: the agents may come from another copy of Waitstate.
const isAgent = (value: unknown): value is AnyAgent => {
  const { name, invoke, notify, with: elsewhere, runtime } = Object(value) as Partial<AnyAgent>;
  return typeof name === 'string' && [invoke, notify, elsewhere].every(isFunction) && typeof runtime === 'object';
};

const isFunction = (value: unknown): boolean => typeof value === 'function';

const agentMisused = (message: string): WaitstateError => new WaitstateError('AGENT_MISUSED', message);
