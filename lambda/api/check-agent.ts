import { HoldpointError } from '../core/errors.ts';
import type { KnownAgent } from './app.ts';

/** Refuses to start what nobody here would run, where it is known who is here. */
export function checkAgent(known: readonly KnownAgent[], name: string): void {
  if (known.length === 0 || known.some((agent) => agent.name === name)) return;
  const names = known.map((agent) => agent.name).join(', ');
  throw new HoldpointError('AGENT_NOT_FOUND', `No agent "${name}" is known here; there is ${names}. Check the name.`);
}
