import { forEachConcurrently } from '../core/for-each-concurrently.ts';
import { ConditionFailedError, type Write } from '../storage/ports.ts';
import type { RunContext } from './context.ts';

const MAX_CONCURRENT_WRITES = 16;

/** Commits each write separately, several at a time; skips writes whose record has changed since. */
export const writeEach = (at: RunContext, writes: readonly Write[]): Promise<void> =>
  forEachConcurrently(writes, MAX_CONCURRENT_WRITES, async (write) => {
    try {
      await at.records.commit([write]);
    } catch (error) {
      if (!(error instanceof ConditionFailedError)) throw error;
    }
  });
