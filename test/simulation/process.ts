import type { Clock } from '../../lambda/runtime/clock.ts';
import type { Timeline } from './timeline.ts';

/** A process of its own: it has a clock, may stand still for a while, and may die, after which it does nothing. */
export class Process {
  readonly name: string;
  readonly clock: Clock;
  dead = false;
  /** Something went wrong for it, so that what it did may rightly be lost. */
  touched = false;
  /** When the function that runs in it must be over, by its clock. */
  deadline = Infinity;
  readonly onDeath = new Set<() => void>();
  readonly #timeline: Timeline;
  #standsUntil = 0;
  #awaited = 0;
  #idleFrom = 0;

  constructor(name: string, timeline: Timeline, skewMs: number) {
    this.name = name;
    this.#timeline = timeline;
    this.clock = {
      now: () => timeline.now + skewMs,
      sleep: (milliseconds, signal, isDeadline) => {
        const slept = this.#sleep(milliseconds, signal);
        return isDeadline ? slept : this.awaits(slept);
      },
    };
  }

  get stands(): boolean {
    return this.#standsUntil > this.#timeline.now;
  }

  /** For how long it has waited for nothing that will come, but for its deadline. */
  get idleMs(): number {
    return this.#awaited > 0 ? 0 : this.#timeline.now - this.#idleFrom;
  }

  /** Begins something: until now it was idle because nobody wanted anything. */
  begin(): void {
    this.#idleFrom = this.#timeline.now;
  }

  /** Knows of something that will come: an answer, or a moment. */
  awaits<T>(coming: Promise<T>): Promise<T> {
    const came = () => {
      this.#awaited -= 1;
      this.#idleFrom = this.#timeline.now;
    };
    this.#awaited += 1;
    coming.then(came, came);
    return coming;
  }

  die(): void {
    if (this.dead) return;
    this.dead = true;
    this.touched = true;
    for (const notice of [...this.onDeath]) notice();
  }

  /** Stands still, and goes on later as if nothing had been. */
  stand(milliseconds: number): void {
    this.touched = true;
    this.#standsUntil = Math.max(this.#standsUntil, this.#timeline.now + milliseconds);
  }

  /** Lets something reach the process after a time: later if it stands still then, never if it is dead. */
  reach(milliseconds: number, then: () => void): void {
    this.#timeline.after(milliseconds, () => {
      if (this.dead) return;
      if (this.stands) this.reach(this.#standsUntil - this.#timeline.now, then);
      else then();
    });
  }

  #sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let over = false;
      const stop = () => {
        over = true;
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', stop, { once: true });
      this.reach(milliseconds, () => {
        if (over) return;
        signal?.removeEventListener('abort', stop);
        resolve();
      });
    });
  }
}
