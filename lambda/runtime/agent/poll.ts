import type { Runtime } from '../runtime.ts';

/** A task that runs at an interval. */
export interface Poller {
  /** Runs the task as soon as possible instead of at the next interval. */
  pollNow(): void;
  /** Starts no further task, and resolves when the tasks in flight have completed. */
  stop(): Promise<void>;
}

// A task that never completes, for example a hanging hook, must not block the next ones.
const MAX_POLL_WAIT_MS = 5_000;

/** Runs a task immediately and then at an interval. A task that takes long overlaps with the ones after it. */
export function poll(
  { clock, log }: Pick<Runtime, 'clock' | 'log'>,
  intervalMs: number,
  task: () => Promise<unknown>,
): Poller {
  const stopping = new AbortController();
  const inFlight = new Set<Promise<unknown>>();
  let pollSoon = new AbortController();

  const start = (): Promise<unknown> => {
    const attempt = task()
      .catch((error) => log('error', 'Polling for work failed.', { error: String(error) }))
      .finally(() => inFlight.delete(attempt));
    inFlight.add(attempt);
    return attempt;
  };
  const pause = (milliseconds: number, ...signals: readonly AbortSignal[]): Promise<void> =>
    clock.sleep(milliseconds, AbortSignal.any([stopping.signal, ...signals])).catch(() => {});
  const loop = async () => {
    while (!stopping.signal.aborted) {
      pollSoon = new AbortController();
      const waitEnded = new AbortController();
      await Promise.race([start(), pause(MAX_POLL_WAIT_MS, waitEnded.signal)]);
      waitEnded.abort();
      await pause(intervalMs, pollSoon.signal);
    }
  };

  const loopEnded = loop();
  return {
    pollNow: () => pollSoon.abort(),
    async stop() {
      stopping.abort();
      await loopEnded;
      await Promise.all(inFlight);
    },
  };
}
