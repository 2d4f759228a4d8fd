import { WaitstateError } from '../core/errors.ts';
import type { KnownAgent } from '../http/app-options.ts';

/** The agents that can be started in a tenant, without a word of other tenants. */
export const agentsForTenant = (known: readonly KnownAgent[], tenant: string): readonly KnownAgent[] =>
  known.filter(({ tenants }) => tenants?.includes(tenant) ?? true).map(({ tenants: _, ...agent }) => agent);

/** Refuses to start what nobody here would run, where it is known who is here. */
export function checkAgent(known: readonly KnownAgent[], tenant: string, name: string): void {
  const offered = agentsForTenant(known, tenant);
  if (known.length === 0 || offered.some((agent) => agent.name === name)) return;
  const names = offered.map((agent) => agent.name).join(', ') || 'none';
  throw new WaitstateError('AGENT_NOT_FOUND', `No agent "${name}" is known here; there is ${names}. Check the name.`);
}
