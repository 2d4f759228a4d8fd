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

/** An agent whose runs workers claim with the HTTP API. */
export interface WorkerAgent {
  readonly worker: true;
  /** The name or ARN of a function that notifies its approvers. @default no function */
  readonly notify?: string | undefined;
  /** The tenants that can start it. @default any */
  readonly tenants?: readonly string[] | undefined;
}

/** Who executes the runs of an agent. */
export type AgentTarget = AgentFunction | WorkerAgent;

/** Who executes the runs of each agent, by its name. */
export type Agents = ReadonlyMap<string, AgentTarget>;

/** Who executes the runs of an agent in a tenant, if anybody does. */
export function agentFor(agents: Agents, tenant: string, name: string): AgentTarget | undefined {
  const found = agents.get(name);
  return found && (found.tenants?.includes(tenant) ?? true) ? found : undefined;
}

/** Whether workers claim the runs of an agent in a tenant. */
export const hasWorkers = (agents: Agents, tenant: string, name = ''): boolean =>
  'worker' in (agentFor(agents, tenant, name) ?? {});

const AGENTS_EXPECTED =
  '{"agent": "function name or ARN", "other": {"function": "…", "hydrate": true, "tenants": ["acme"]}, "third": {"worker": true}} as JSON';

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

function toShortForm(target: AgentTarget): unknown {
  if ('worker' in target) return target;
  const { function: name, hydrate, tenants } = target;
  return hydrate || tenants ? { function: name, ...(hydrate && { hydrate }), ...(tenants && { tenants }) } : name;
}

function readAgent(agent: string, value: unknown): AgentTarget {
  const target = isRecord(value) && value.worker === true ? readWorkerAgent(value) : readAgentFunction(value);
  if (agent !== '' && target) return target;
  return throwInvalidVariable(ENVIRONMENT.agents, AGENTS_EXPECTED, `for agent "${agent}": ${JSON.stringify(value)}`);
}

function readAgentFunction(value: unknown): AgentFunction | undefined {
  const { function: name, hydrate = false, tenants, ...rest } = isRecord(value) ? value : { function: value };
  const hasValidFields = Object.keys(rest).length === 0 && typeof hydrate === 'boolean' && isOptionalList(tenants);
  return hasValidFields && isName(name) ? { function: name, hydrate, ...(tenants && { tenants }) } : undefined;
}

function readWorkerAgent(value: Readonly<Record<string, unknown>>): WorkerAgent | undefined {
  const { worker: _worker, notify, tenants, ...rest } = value;
  if (Object.keys(rest).length > 0 || !isOptionalList(tenants) || (notify !== undefined && !isName(notify)))
    return undefined;
  return { worker: true, ...(notify !== undefined && { notify }), ...(tenants && { tenants }) };
}

const isOptionalList = (value: unknown): value is readonly string[] | undefined =>
  value === undefined || isNameList(value);

const isName = (value: unknown): value is string => typeof value === 'string' && value !== '';

const isNameList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every(isName);

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
