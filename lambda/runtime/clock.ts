import { setTimeout as timeout } from 'node:timers/promises';

/** The runtime's source of time; tests pass one that they advance themselves. */
export interface Clock {
  now(): number;
  /**
   * Resolves after `milliseconds`; rejects when the signal aborts first. `isDeadline` marks a sleep that only guards a
   * time limit: a test clock does not advance to it while other sleepers are waiting.
   */
  sleep(milliseconds: number, signal?: AbortSignal, isDeadline?: boolean): Promise<void>;
}

// The longest delay that a Node.js timer supports.
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds, signal) => timeout(Math.min(milliseconds, MAX_TIMER_MS), undefined, signal && { signal }),
};
