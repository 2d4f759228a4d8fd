import type { Clock } from '../runtime/clock.ts';
import { currentProcess, type TestProcess } from './test-process.ts';

interface Sleeper {
  readonly until: number;
  readonly isDeadline: boolean;
  /** When the sleep ends in real time. */
  readonly realUntil: number;
  readonly process: TestProcess | undefined;
  readonly wake: () => void;
}

/** A clock that stands still until it is advanced. */
export class TestClock implements Clock {
  #now: number;
  readonly #sleepers = new Set<Sleeper>();
  #sleeps = 0;

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  sleep(milliseconds: number, signal?: AbortSignal, isDeadline = false): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const sleeper: Sleeper = {
        until: this.#now + milliseconds,
        isDeadline,
        realUntil: performance.now() + milliseconds,
        process: currentProcess.getStore(),
        wake: resolve,
      };
      this.#sleepers.add(sleeper);
      this.#sleeps += 1;
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

  /** How many sleeps have begun. */
  get sleeps(): number {
    return this.#sleeps;
  }

  /** When the next sleep ends, deadlines excluded; undefined when nothing sleeps. */
  get next(): number | undefined {
    return earliest(this.#awaited().filter(({ isDeadline }) => !isDeadline));
  }

  /** When the next deadline is; undefined without deadlines. */
  get nextDeadline(): number | undefined {
    return earliest(this.#awaited().filter(({ isDeadline }) => isDeadline));
  }

  /** The next deadline that has also passed in real time; undefined if there is none. */
  get overdue(): number | undefined {
    const realNow = performance.now();
    return earliest(this.#awaited().filter(({ isDeadline, realUntil }) => isDeadline && realUntil <= realNow));
  }

  /** Advances the clock, never back, and ends the sleeps that are due, in order. */
  moveTo(time: number): void {
    this.#now = Math.max(this.#now, time);
    const due = this.#awaited().filter(({ until }) => until <= this.#now);
    for (const sleeper of due.toSorted((a, b) => a.until - b.until)) {
      this.#sleepers.delete(sleeper);
      sleeper.wake();
    }
  }

  /** The sleepers of processes that run, and those of the test itself. */
  #awaited(): readonly Sleeper[] {
    return [...this.#sleepers].filter(({ process }) => !process?.isStopped);
  }
}

function earliest(sleepers: readonly Sleeper[]): number | undefined {
  const next = Math.min(...sleepers.map(({ until }) => until));
  return next === Infinity ? undefined : next;
}
