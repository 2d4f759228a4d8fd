import type { Clock } from '../clock.ts';

interface Sleeper {
  readonly until: number;
  readonly isDeadline: boolean;
  readonly wake: () => void;
}

/** A clock that stands still until it is advanced. */
export class TestClock implements Clock {
  #now: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  sleep(milliseconds: number, signal?: AbortSignal, isDeadline = false): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const sleeper = { until: this.#now + milliseconds, isDeadline, wake: resolve };
      this.#sleepers.add(sleeper);
      signal?.addEventListener(
        'abort',
        () => {
          this.#sleepers.delete(sleeper);
          reject(signal.reason);
        },
        { once: true },
      );
    });
  }

  /** When the next sleep ends, deadlines excluded; undefined when nothing sleeps. */
  get next(): number | undefined {
    return this.#next(false);
  }

  /** When the next deadline is; undefined without deadlines. */
  get nextDeadline(): number | undefined {
    return this.#next(true);
  }

  #next(deadlines: boolean): number | undefined {
    const next = Math.min(
      ...[...this.#sleepers].map((each) => (each.isDeadline === deadlines ? each.until : Infinity)),
    );
    return next === Infinity ? undefined : next;
  }

  /** Advances the clock, never back, and ends the sleeps that are due, in order. */
  moveTo(time: number): void {
    this.#now = Math.max(this.#now, time);
    const due = [...this.#sleepers].filter(({ until }) => until <= this.#now).toSorted((a, b) => a.until - b.until);
    for (const sleeper of due) {
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }
}
