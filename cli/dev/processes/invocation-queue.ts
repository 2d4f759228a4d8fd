import { setTimeout as pause } from 'node:timers/promises';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';

/** What follows an invocation: nothing, another invocation because the run is ready again, or a retry after a crash. */
export type NextAction = 'done' | 'ready' | 'crashed';

export interface InvocationQueueOptions {
  /** How many invocations run at the same time. */
  readonly concurrency: number;
  /** The pause after the first crash of a run; it doubles with each further crash. */
  readonly crashBackoffMs: number;
  invoke(delivery: Delivery): Promise<NextAction>;
  /** Called when an invocation could not start; it is retried as after a crash. */
  onStartFailed(delivery: Delivery, error: unknown): void;
}

/** The invocations of one server: a limited number at a time, and at most one for each run. */
export interface InvocationQueue {
  /** Whether the queue accepts more. */
  readonly hasCapacity: boolean;
  /** How many invocations are running. */
  readonly runningCount: number;
  /** Whether a run is running or queued. */
  has(delivery: Pick<Delivery, 'tenant' | 'run'>): boolean;
  /** Queues a run, unless it is already queued, running or waiting after a crash. */
  deliver(delivery: Delivery): void;
  /** Retries crashed runs immediately. */
  retryNow(): void;
  /** Starts nothing more, waits up to `graceMs` for running invocations, then calls `end` to kill them. */
  stop(graceMs: number, end: () => void): Promise<void>;
}

/** A run whose process crashed. */
interface Crash {
  /** The number of crashes in a row. */
  readonly count: number;
  /** Runs until the next attempt. */
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
    if (next === 'ready') deliver(delivery);
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
      const finished = Promise.all(running.values());
      const grace = new AbortController();
      await Promise.race([finished, pause(graceMs, undefined, { signal: grace.signal }).catch(() => {})]);
      grace.abort();
      end();
      await finished;
    },
  };
}
