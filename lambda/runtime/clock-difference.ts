import type { Context } from '../checkpoints/engine.ts';
import type { Log } from './runtime.ts';

/** How far the clock of a process may differ from the storage's for it to claim and sweep. S3 has the same limit. */
export const MAX_CLOCK_DIFFERENCE_MS = 15 * 60_000;

const WARNING_MS = 30_000;
const LOG_INTERVAL_MS = 60_000;

type Records = Context['records'];

/**
 * Whether the clock of this process is so wrong that it must not claim or sweep: the times that Waitstate stores are
 * corrected, but those that the agent's own code reads are not.
 */
export const isClockWrong = ({ records }: { readonly records: Pick<Records, 'clockAheadMs'> }): boolean =>
  Math.abs(records.clockAheadMs() ?? 0) >= MAX_CLOCK_DIFFERENCE_MS;

// When the difference was last logged, for each storage.
const loggedAt = new WeakMap<Records, number>();

/** Logs that the clock of this process differs from the storage's, at most once a minute. */
export function logClockDifference(context: Pick<Context, 'records' | 'now'>, log: Log): void {
  const aheadMs = context.records.clockAheadMs() ?? 0;
  const now = context.now();
  if (Math.abs(aheadMs) < WARNING_MS || now - (loggedAt.get(context.records) ?? -Infinity) < LOG_INTERVAL_MS) return;
  loggedAt.set(context.records, now);
  const clockAheadSeconds = Math.round(aheadMs / 1000);
  const [amount, direction] = [Math.abs(clockAheadSeconds), aheadMs < 0 ? 'behind' : 'ahead of'];
  const found = `The clock of this process is ${amount} seconds ${direction} the clock of the storage`;
  const advice = 'Synchronize the clock of this machine (NTP).';
  if (isClockWrong(context))
    log(
      'error',
      `${found}; expected less than ${MAX_CLOCK_DIFFERENCE_MS / 1000} seconds. This process claims no run and sweeps nothing until the clocks agree. ${advice}`,
      { clockAheadSeconds },
    );
  else
    log(
      'warn',
      `${found}; expected less than ${WARNING_MS / 1000} seconds. Leases and deadlines use the storage's clock, but your own code does not. ${advice}`,
      { clockAheadSeconds },
    );
}
