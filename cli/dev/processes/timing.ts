import { LEASE_MS } from '../../../lambda/runtime/agent/worker.ts';

/** How long things take; all in milliseconds. */
export interface Timing {
  /** How often to look for runs that are ready, and at what is due. */
  readonly pollMs: number;
  readonly sweepMs: number;
  /** How long a process has a run before it must say that it is alive. */
  readonly leaseMs: number;
  /** How long a process may be silent: it says every second that it is alive. */
  readonly silentMs: number;
  /** How long an invocation may take before it goes on in another one; as on Lambda. */
  readonly invocationMs: number;
  /** How long people may be told by an agent's own hook. */
  readonly notifyMs: number;
  /** The pause after a first crash. */
  readonly crashPauseMs: number;
  /** How long invocations may go on when the server is stopped. */
  readonly graceMs: number;
}

export const TIMING: Timing = {
  pollMs: 250,
  sweepMs: 1_000,
  leaseMs: LEASE_MS,
  silentMs: LEASE_MS,
  invocationMs: 15 * 60_000,
  notifyMs: 60_000,
  crashPauseMs: 1_000,
  graceMs: 3_000,
};
