import { setTimeout as pause } from 'node:timers/promises';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';

/** What comes after an invocation: nothing, the run is ready once more, or its process crashed. */
export type NextAction = 'over' | 'again' | 'crashed';

export interface InvocationQueueOptions {
  /** How many go on at the same time. */
  readonly concurrency: number;
  /** The pause after a first crash; it is doubled after each. */
  readonly crashBackoffMs: number;
  invoke(delivery: Delivery): Promise<NextAction>;
  /** Hears that one could not even begin; it is tried again, as after a crash. */
  onStartFailed(delivery: Delivery, error: unknown): void;
}

/** The invocations of one server: so many at a time, and one for each run. */
export interface InvocationQueue {
  /** Whether there is room for more. */
  readonly hasCapacity: boolean;
  /** How many go on. */
  readonly runningCount: number;
  /** Whether a run goes on, or is about to. */
  has(delivery: Pick<Delivery, 'tenant' | 'run'>): boolean;
  /** Runs a run as soon as there is room. */
  deliver(delivery: Delivery): void;
  /** What waits after a crash is tried at once. */
  retryNow(): void;
  /** Begins nothing more; what goes on may do so for a moment, and then `end` ends it. */
  stop(graceMs: number, end: () => void): Promise<void>;
}

/** A run whose process crashed. */
interface Crash {
  /** How often in a row. */
  readonly count: number;
  /** Until it is tried again. */
  timer: NodeJS.Timeout | undefined;
  retry(): void;
}

const MAX_BACKOFF_MS = 60_000;

const idOf = ({ tenant, run }: Pick<Delivery, 'tenant' | 'run'>): string => JSON.stringify([tenant, run]);

export function createInvocationQueue({
  concurrency,
  crashBackoffMs,
  invoke,
  onStartFailed,
}: InvocationQueueOptions): InvocationQueue {
  const queued = new Map<string, Delivery>();
  const running = new Map<string, Promise<void>>();
  const crashed = new Map<string, Crash>();
  let isStopping = false;

  const has: InvocationQueue['has'] = (delivery) => queued.has(idOf(delivery)) || running.has(idOf(delivery));

  function deliver(delivery: Delivery): void {
    const id = idOf(delivery);
    if (isStopping || has(delivery) || crashed.get(id)?.timer) return;
    queued.set(id, delivery);
    startQueued();
  }

  function startQueued(): void {
    for (const [id, delivery] of queued) {
      if (isStopping || running.size >= concurrency) return;
      queued.delete(id);
      running.set(id, runInvocation(id, delivery));
    }
  }

  async function runInvocation(id: string, delivery: Delivery): Promise<void> {
    const next = await invoke(delivery).catch((error): NextAction => {
      onStartFailed(delivery, error);
      return 'crashed';
    });
    running.delete(id);
    const { count: times = 0 } = crashed.get(id) ?? {};
    crashed.delete(id);
    if (next === 'again') deliver(delivery);
    if (next === 'crashed' && !isStopping) crashed.set(id, retryLater(delivery, times));
    startQueued();
  }

  function retryLater(delivery: Delivery, times: number): Crash {
    const backoffMs = Math.min(MAX_BACKOFF_MS, crashBackoffMs * 2 ** Math.min(times, 10));
    const crash: Crash = {
      count: times + 1,
      timer: setTimeout(() => crash.retry(), backoffMs),
      retry() {
        clearTimeout(crash.timer);
        crash.timer = undefined;
        deliver(delivery);
      },
    };
    return crash;
  }

  return {
    get hasCapacity() {
      return queued.size < concurrency;
    },
    get runningCount() {
      return running.size;
    },
    has,
    deliver,
    retryNow() {
      for (const { timer, retry } of [...crashed.values()]) if (timer) retry();
    },
    async stop(graceMs, end) {
      isStopping = true;
      queued.clear();
      for (const { timer } of crashed.values()) clearTimeout(timer);
      const over = Promise.all(running.values());
      const grace = new AbortController();
      await Promise.race([over, pause(graceMs, undefined, { signal: grace.signal }).catch(() => {})]);
      grace.abort();
      end();
      await over;
    },
  };
}
