import { WORKER_LEASE_MS } from '../../../lambda/runtime/agent/worker.ts';

/** How long things take; all in milliseconds. */
export interface Timing {
  /** How often to look for runs that are ready, and at what is due. */
  readonly pollIntervalMs: number;
  readonly sweepIntervalMs: number;
  /** How long a process has a run before it must say that it is alive. */
  readonly leaseMs: number;
  /** How long a process may be silent: it says every second that it is alive. */
  readonly heartbeatTimeoutMs: number;
  /** How long an invocation may take before it goes on in another one; as on Lambda. */
  readonly invocationTimeoutMs: number;
  /** How long people may be told by an agent's own hook. */
  readonly notifyTimeoutMs: number;
  /** The pause after a first crash. */
  readonly crashBackoffMs: number;
  /** How long invocations may go on when the server is stopped. */
  readonly shutdownGraceMs: number;
}

export const DEFAULT_TIMING: Timing = {
  pollIntervalMs: 250,
  sweepIntervalMs: 1_000,
  leaseMs: WORKER_LEASE_MS,
  heartbeatTimeoutMs: WORKER_LEASE_MS,
  invocationTimeoutMs: 15 * 60_000,
  notifyTimeoutMs: 60_000,
  crashBackoffMs: 1_000,
  shutdownGraceMs: 3_000,
};
