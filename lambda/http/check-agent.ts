import { WaitstateError } from '../core/errors.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import type { AppOptions, KnownAgent } from './app-options.ts';

/** The agents that a tenant can start; the names of other tenants are left out. */
export const agentsForTenant = (known: readonly KnownAgent[], tenant: string): readonly KnownAgent[] =>
  known
    .filter(({ tenants }) => tenants?.includes(tenant) ?? true)
    .map(({ name, example, description }) => ({ name, ...omitUndefined({ example, description }) }));

/** The names of the only agents that run here; empty if others may run here too. */
export async function knownAgentNames(
  { agents, startsAnyAgent }: Pick<AppOptions, 'agents' | 'startsAnyAgent'>,
  tenant: string,
): Promise<readonly string[]> {
  const known = (await agents?.()) ?? [];
  return startsAnyAgent?.() ? [] : agentsForTenant(known, tenant).map(({ name }) => name);
}

/** Throws `AGENT_NOT_FOUND` for an agent that is not among the known ones; without known agents, any name passes. */
export async function checkAgent(
  { agents, startsAnyAgent }: Pick<AppOptions, 'agents' | 'startsAnyAgent'>,
  tenant: string,
  name: string,
): Promise<void> {
  const known = (await agents?.()) ?? [];
  if (startsAnyAgent?.()) return;
  const offered = agentsForTenant(known, tenant);
  if (known.length === 0 || offered.some((agent) => agent.name === name)) return;
  const names = offered.map((agent) => agent.name).join(', ') || 'none';
  throw new WaitstateError('AGENT_NOT_FOUND', `No agent "${name}" is known. Known agents: ${names}. Check the name.`);
}
