import { setImmediate as idle } from 'node:timers/promises';

/** A clock that advances only while all its users wait. */
export interface VirtualTime {
  now(): number;
  /** Resolves after this many milliseconds. */
  pass(milliseconds: number): Promise<void>;
}

/** Starts at 0. Concurrent waits overlap. */
export function virtualTime(): VirtualTime {
  let now = 0;
  let waiting: { readonly until: number; readonly wake: () => void }[] = [];
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      // Let pending work that does not wait run first.
      await idle();
      now = Math.min(...waiting.map(({ until }) => until));
      const due = waiting.filter(({ until }) => until <= now);
      waiting = waiting.filter(({ until }) => until > now);
      for (const { wake } of due) wake();
      await idle();
    }
    isRunning = false;
  }

  return {
    now: () => now,
    pass(milliseconds) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ until: now + milliseconds, wake: resolve });
      if (!isRunning) void run();
      return promise;
    },
  };
}
