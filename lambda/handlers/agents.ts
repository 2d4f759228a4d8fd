import { parseJsonVariable, throwInvalidVariable } from '../environment/invalid-variable.ts';
import { ENVIRONMENT } from '../environment/names.ts';

/** The function of an agent, whether it gets its run claimed and loaded, and whose runs it gets. */
export interface AgentFunction {
  /** A name or an ARN. */
  readonly function: string;
  readonly hydrate: boolean;
  /** The only tenants whose runs it gets. @default any */
  readonly tenants?: readonly string[] | undefined;
}

/** The functions by the names of their agents. */
export type Agents = ReadonlyMap<string, AgentFunction>;

/** The function that gets the runs of an agent in a tenant; undefined when none does. */
export function agentFunctionFor(agents: Agents, tenant: string, name: string): AgentFunction | undefined {
  const found = agents.get(name);
  return found && (found.tenants?.includes(tenant) ?? true) ? found : undefined;
}

const AGENTS_EXPECTED =
  '{"agent": "function name or ARN", "other": {"function": "…", "hydrate": true, "tenants": ["acme"]}} as JSON';

/**
 * Reads the functions of agents;
 * `{"refunds": "refunds-fn", "quotes": {"function": "quotes-fn", "hydrate": true, "tenants": ["acme"]}}`.
 */
export function readAgents(text: string): Agents {
  const given = parseJsonVariable(ENVIRONMENT.agents, AGENTS_EXPECTED, text);
  if (!isRecord(given)) throwInvalidVariable(ENVIRONMENT.agents, AGENTS_EXPECTED, text);
  return new Map(Object.entries(given).map(([agent, value]) => [agent, readAgent(agent, value)]));
}

/** What `readAgents` reads back as the same, in as few letters as it can: an environment has little room. */
export const formatAgents = (agents: Agents): string =>
  JSON.stringify(Object.fromEntries([...agents].map(([agent, value]) => [agent, shortest(value)])));

const shortest = ({ function: name, hydrate, tenants }: AgentFunction): unknown =>
  hydrate || tenants ? { function: name, ...(hydrate && { hydrate }), ...(tenants && { tenants }) } : name;

function readAgent(agent: string, value: unknown): AgentFunction {
  const { function: name, hydrate = false, tenants, ...rest } = isRecord(value) ? value : { function: value };
  const isKnown = Object.keys(rest).length === 0 && typeof hydrate === 'boolean';
  if (agent !== '' && isName(name) && isKnown && (tenants === undefined || areNames(tenants)))
    return { function: name, hydrate, ...(tenants && { tenants }) };
  return throwInvalidVariable(ENVIRONMENT.agents, AGENTS_EXPECTED, `for agent "${agent}": ${JSON.stringify(value)}`);
}

const isName = (value: unknown): value is string => typeof value === 'string' && value !== '';

const areNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every(isName);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
