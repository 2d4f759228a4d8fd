import { vi } from 'vitest';

/** Tries until it does not throw: for lists, which may be behind. */
export const eventually = (attempt: () => Promise<void>): Promise<void> =>
  vi.waitFor(attempt, { timeout: 30_000, interval: 100 });
