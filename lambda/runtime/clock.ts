import { setTimeout as timeout } from 'node:timers/promises';

/** Time as the runtime sees it; tests give one that they move themselves. */
export interface Clock {
  now(): number;
  /**
   * Resolves after so many milliseconds; rejects when the signal aborts first. Of a deadline nobody waits for: it only
   * must not be missed.
   */
  sleep(milliseconds: number, signal?: AbortSignal, isDeadline?: boolean): Promise<void>;
}

// The longest that a timer of Node can wait.
const MOST = 2 ** 31 - 1;

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (milliseconds, signal) => timeout(Math.min(milliseconds, MOST), undefined, signal && { signal }),
};
