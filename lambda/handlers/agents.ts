import { ENVIRONMENT } from '../environment/names.ts';
import { jsonOf, refuse } from '../environment/refuse.ts';

/** The function of an agent, and whether it gets its run claimed and loaded. */
export interface AgentFunction {
  /** A name or an ARN. */
  readonly function: string;
  readonly hydrate: boolean;
}

/** The functions by the names of their agents. */
export type Agents = ReadonlyMap<string, AgentFunction>;

const AGENTS_EXPECTED = '{"agent": "function name or ARN", "other": {"function": "…", "hydrate": true}} as JSON';

/** Reads the functions of agents; `{"refunds": "refunds-fn", "quotes": {"function": "quotes-fn", "hydrate": true}}`. */
export function readAgents(text: string): Agents {
  const given = jsonOf(ENVIRONMENT.agents, AGENTS_EXPECTED, text);
  if (!isRecord(given)) refuse(ENVIRONMENT.agents, AGENTS_EXPECTED, text);
  return new Map(Object.entries(given).map(([agent, value]) => [agent, readAgent(agent, value)]));
}

function readAgent(agent: string, value: unknown): AgentFunction {
  const { function: name, hydrate = false, ...rest } = isRecord(value) ? value : { function: value };
  const isKnown = Object.keys(rest).length === 0 && typeof hydrate === 'boolean';
  if (agent !== '' && typeof name === 'string' && name !== '' && isKnown) return { function: name, hydrate };
  return refuse(ENVIRONMENT.agents, AGENTS_EXPECTED, `for agent "${agent}": ${JSON.stringify(value)}`);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
