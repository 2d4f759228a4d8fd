import { ConditionFailedError, type Write } from '../storage/ports.ts';
import type { RunContext } from './context.ts';

const MAX_CONCURRENT_WRITES = 16;

/** Commits each write separately, several at a time; skips writes whose record has changed since. */
export async function writeEach(at: RunContext, writes: readonly Write[]): Promise<void> {
  const queue = writes.values();
  const worker = async () => {
    for (const write of queue) {
      try {
        await at.records.commit([write]);
      } catch (error) {
        if (!(error instanceof ConditionFailedError)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_WRITES }, worker));
}
