import { parseJsonVariable, throwInvalidVariable } from '../environment/invalid-variable.ts';
import { ENVIRONMENT } from '../environment/names.ts';

/** The function of an agent. */
export interface AgentFunction {
  /** A name or an ARN. */
  readonly function: string;
  /** Whether its runs are claimed and hydrated before it is invoked. */
  readonly hydrate: boolean;
  /** The tenants whose runs it receives. @default any */
  readonly tenants?: readonly string[] | undefined;
}

/** Functions by agent name. */
export type Agents = ReadonlyMap<string, AgentFunction>;

/** The function that receives the runs of an agent in a tenant, if there is one. */
export function agentFunctionFor(agents: Agents, tenant: string, name: string): AgentFunction | undefined {
  const found = agents.get(name);
  return found && (found.tenants?.includes(tenant) ?? true) ? found : undefined;
}

const AGENTS_EXPECTED =
  '{"agent": "function name or ARN", "other": {"function": "…", "hydrate": true, "tenants": ["acme"]}} as JSON';

/**
 * Parses `WAITSTATE_AGENTS`, for example
 * `{"refunds": "refunds-fn", "quotes": {"function": "quotes-fn", "hydrate": true, "tenants": ["acme"]}}`.
 */
export function readAgents(text: string): Agents {
  const given = parseJsonVariable(ENVIRONMENT.agents, AGENTS_EXPECTED, text);
  if (!isRecord(given)) throwInvalidVariable(ENVIRONMENT.agents, AGENTS_EXPECTED, text);
  return new Map(Object.entries(given).map(([agent, value]) => [agent, readAgent(agent, value)]));
}

/** The inverse of `readAgents`, as short as possible because Lambda limits the size of an environment. */
export const formatAgents = (agents: Agents): string =>
  JSON.stringify(Object.fromEntries([...agents].map(([agent, value]) => [agent, toShortForm(value)])));

const toShortForm = ({ function: name, hydrate, tenants }: AgentFunction): unknown =>
  hydrate || tenants ? { function: name, ...(hydrate && { hydrate }), ...(tenants && { tenants }) } : name;

function readAgent(agent: string, value: unknown): AgentFunction {
  const { function: name, hydrate = false, tenants, ...rest } = isRecord(value) ? value : { function: value };
  const hasValidFields = Object.keys(rest).length === 0 && typeof hydrate === 'boolean';
  if (agent !== '' && isName(name) && hasValidFields && (tenants === undefined || isNameList(tenants)))
    return { function: name, hydrate, ...(tenants && { tenants }) };
  return throwInvalidVariable(ENVIRONMENT.agents, AGENTS_EXPECTED, `for agent "${agent}": ${JSON.stringify(value)}`);
}

const isName = (value: unknown): value is string => typeof value === 'string' && value !== '';

const isNameList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every(isName);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
