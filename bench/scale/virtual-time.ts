import { setImmediate as idle } from 'node:timers/promises';

/** Time that passes only while everybody waits for it. */
export interface VirtualTime {
  now(): number;
  /** Resolves after so many milliseconds. */
  pass(milliseconds: number): Promise<void>;
}

/** Time that begins at 0; what waits side by side waits once. */
export function virtualTime(): VirtualTime {
  let now = 0;
  let waiting: { readonly until: number; readonly wake: () => void }[] = [];
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    while (waiting.length > 0) {
      // Whoever still has something to do without waiting does it first.
      await idle();
      now = Math.min(...waiting.map(({ until }) => until));
      const over = waiting.filter(({ until }) => until <= now);
      waiting = waiting.filter(({ until }) => until > now);
      for (const { wake } of over) wake();
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
