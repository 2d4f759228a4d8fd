import type { Runtime } from '../runtime.ts';

/** Something that is done again and again. */
export interface Poller {
  /** Does it as soon as possible, instead of when its time comes. */
  pollNow(): void;
  /** Begins nothing more, and resolves when what was begun is over. */
  stop(): Promise<void>;
}

// A hook that never comes back must not keep others from their work.
const PATIENCE_MS = 5_000;

/** Looks for work at once and then every so often. A look that takes long goes on beside those that follow it. */
export function repeatedly(
  { clock, log }: Pick<Runtime, 'clock' | 'log'>,
  everyMs: number,
  look: () => Promise<unknown>,
): Poller {
  const stopping = new AbortController();
  const under = new Set<Promise<unknown>>();
  let soon = new AbortController();

  const begin = (): Promise<unknown> => {
    const looked = look()
      .catch((error) => log('error', 'Looking for work failed.', { error: String(error) }))
      .finally(() => under.delete(looked));
    under.add(looked);
    return looked;
  };
  const pause = (milliseconds: number, ...signals: readonly AbortSignal[]): Promise<void> =>
    clock.sleep(milliseconds, AbortSignal.any([stopping.signal, ...signals])).catch(() => {});
  const loop = async () => {
    while (!stopping.signal.aborted) {
      soon = new AbortController();
      const over = new AbortController();
      await Promise.race([begin(), pause(PATIENCE_MS, over.signal)]);
      over.abort();
      await pause(everyMs, soon.signal);
    }
  };

  const looping = loop();
  return {
    pollNow: () => soon.abort(),
    async stop() {
      stopping.abort();
      await looping;
      await Promise.all(under);
    },
  };
}
