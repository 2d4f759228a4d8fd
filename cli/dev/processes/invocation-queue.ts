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
  readonly times: number;
  /** Until it is tried again. */
  timer: NodeJS.Timeout | undefined;
  retry(): void;
}

const LONGEST_PAUSE_MS = 60_000;

const idOf = ({ tenant, run }: Pick<Delivery, 'tenant' | 'run'>): string => JSON.stringify([tenant, run]);

export function createInvocationQueue({
  concurrency,
  crashBackoffMs: crashPauseMs,
  invoke,
  onStartFailed: failed,
}: InvocationQueueOptions): InvocationQueue {
  const waiting = new Map<string, Delivery>();
  const going = new Map<string, Promise<void>>();
  const crashed = new Map<string, Crash>();
  let isStopping = false;

  const has: InvocationQueue['has'] = (delivery) => waiting.has(idOf(delivery)) || going.has(idOf(delivery));

  function deliver(delivery: Delivery): void {
    const id = idOf(delivery);
    if (isStopping || has(delivery) || crashed.get(id)?.timer) return;
    waiting.set(id, delivery);
    begin();
  }

  function begin(): void {
    for (const [id, delivery] of waiting) {
      if (isStopping || going.size >= concurrency) return;
      waiting.delete(id);
      going.set(id, go(id, delivery));
    }
  }

  async function go(id: string, delivery: Delivery): Promise<void> {
    const next = await invoke(delivery).catch((error): NextAction => {
      failed(delivery, error);
      return 'crashed';
    });
    going.delete(id);
    const { times = 0 } = crashed.get(id) ?? {};
    crashed.delete(id);
    if (next === 'again') deliver(delivery);
    if (next === 'crashed' && !isStopping) crashed.set(id, retryLater(delivery, times));
    begin();
  }

  function retryLater(delivery: Delivery, times: number): Crash {
    const pauseMs = Math.min(LONGEST_PAUSE_MS, crashPauseMs * 2 ** Math.min(times, 10));
    const crash: Crash = {
      times: times + 1,
      timer: setTimeout(() => crash.retry(), pauseMs),
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
      return waiting.size < concurrency;
    },
    get runningCount() {
      return going.size;
    },
    has,
    deliver,
    retryNow() {
      for (const { timer, retry } of [...crashed.values()]) if (timer) retry();
    },
    async stop(graceMs, end) {
      isStopping = true;
      waiting.clear();
      for (const { timer } of crashed.values()) clearTimeout(timer);
      const over = Promise.all(going.values());
      const grace = new AbortController();
      await Promise.race([over, pause(graceMs, undefined, { signal: grace.signal }).catch(() => {})]);
      grace.abort();
      end();
      await over;
    },
  };
}
