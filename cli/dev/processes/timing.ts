import { WORKER_LEASE_MS } from '../../../lambda/runtime/agent/worker.ts';

/** Intervals and limits of the local server, in milliseconds. */
export interface Timing {
  /** How often to look for READY runs. */
  readonly pollIntervalMs: number;
  /** How often to handle due timers, reminders and leases. */
  readonly sweepIntervalMs: number;
  /** How long the lease of a process on a run lasts before it must be renewed. */
  readonly leaseMs: number;
  /** How long a process may be silent; it sends a heartbeat every second. */
  readonly heartbeatTimeoutMs: number;
  /** How long an invocation may take before the run continues in another one, as on Lambda. */
  readonly invocationTimeoutMs: number;
  /** How long an agent's `notify` hook may take. */
  readonly notifyTimeoutMs: number;
  /** The pause after the first crash of a run. */
  readonly crashBackoffMs: number;
  /** How long running invocations may continue when the server stops. */
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
