import { setTimeout as sleep } from 'node:timers/promises';
import { isWaitstateError } from '../core/errors.ts';

const MAX_ATTEMPTS = 100;

/** Tries again, a little later each time, as long as somebody else was faster. */
export async function retryOnConflict<T>(attempt: (attempt: number) => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt(count);
    } catch (error) {
      if (!isWaitstateError(error, 'STALE_VERSION') || count >= MAX_ATTEMPTS) throw error;
      await sleep(Math.random() * Math.min(200, 5 * 2 ** Math.min(count, 6)));
    }
  }
}
