import { setTimeout as sleep } from 'node:timers/promises';
import { isWaitstateError } from '../core/errors.ts';

const MAX_ATTEMPTS = 100;

/** Retries on a version conflict, with backoff and jitter. */
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
