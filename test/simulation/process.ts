import type { Clock } from '../../lambda/runtime/clock.ts';
import { MAX_CLOCK_DIFFERENCE_MS } from '../../lambda/runtime/clock-difference.ts';
import type { Timeline } from './timeline.ts';

/** One invocation of an agent in a process. */
export interface Invocation {
  readonly process: Process;
  /** When it must end, by the clock of its process. */
  readonly deadline: number;
  /** The length of its lease, if it is renewed. */
  readonly leaseMs?: number | undefined;
  /** Whether a fault hit its process meanwhile, so that its results may be lost. */
  isDisturbed: boolean;
}

/** A simulated process with its own clock. It may pause for a while, and it may die, after which it does nothing. */
export class Process {
  readonly name: string;
  readonly clock: Clock;
  /** How far its clock is ahead. */
  readonly skewMs: number;
  dead = false;
  /** Until when faults keep it from working; -Infinity if no fault ever hit it. */
  disturbedUntil = -Infinity;
  /** Whether it has the code of an agent. */
  knows: (agent: string) => boolean = () => true;
  /** The invocations that run in it, by run. */
  readonly invocations = new Map<string, Invocation>();
  readonly onDeath = new Set<() => void>();
  readonly #timeline: Timeline;
  #pausedUntil = 0;
  #pending = 0;
  #idleFrom = 0;

  constructor(name: string, timeline: Timeline, skewMs: number) {
    this.name = name;
    this.#timeline = timeline;
    this.skewMs = skewMs;
    this.clock = {
      now: () => timeline.now + skewMs,
      sleep: (milliseconds, signal, isDeadline) => {
        const slept = this.#sleep(milliseconds, signal);
        return isDeadline ? slept : this.track(slept);
      },
    };
  }

  get wasDisturbed(): boolean {
    return this.disturbedUntil > -Infinity;
  }

  /** Records that a fault hits it now, and how long it lasts. */
  disturb(milliseconds = 0): void {
    for (const invocation of this.invocations.values()) invocation.isDisturbed = true;
    this.disturbedUntil = Math.max(this.disturbedUntil, this.#timeline.now + milliseconds);
  }

  /** Whether its clock is right enough for it to claim and sweep; false within the error of the measurement. */
  get canSweep(): boolean {
    return Math.abs(this.skewMs) < MAX_CLOCK_DIFFERENCE_MS - 10_000;
  }

  get isPaused(): boolean {
    return this.#pausedUntil > this.#timeline.now;
  }

  /** How long it has waited for nothing but its deadline. */
  get idleMs(): number {
    return this.#pending > 0 ? 0 : this.#timeline.now - this.#idleFrom;
  }

  /** Starts an invocation: idle time before it does not count. */
  begin(): void {
    this.#idleFrom = this.#timeline.now;
  }

  /** Counts a promise as pending work, such as a response or a timer; the process is not idle until it settles. */
  track<T>(promise: Promise<T>): Promise<T> {
    const settled = () => {
      this.#pending -= 1;
      this.#idleFrom = this.#timeline.now;
    };
    this.#pending += 1;
    promise.then(settled, settled);
    return promise;
  }

  die(): void {
    if (this.dead) return;
    this.dead = true;
    this.disturb();
    for (const notice of [...this.onDeath]) notice();
  }

  /** Pauses the process; it later continues without noticing. */
  pause(milliseconds: number): void {
    this.disturb(milliseconds);
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#timeline.now + milliseconds);
  }

  /** Calls back after a delay: later if the process is paused then, never if it is dead. */
  afterDelay(milliseconds: number, then: () => void): void {
    this.#timeline.after(milliseconds, () => {
      if (this.dead) return;
      if (this.isPaused) this.afterDelay(this.#pausedUntil - this.#timeline.now, then);
      else then();
    });
  }

  #sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let isAborted = false;
      const stop = () => {
        isAborted = true;
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', stop, { once: true });
      this.afterDelay(milliseconds, () => {
        if (isAborted) return;
        signal?.removeEventListener('abort', stop);
        resolve();
      });
    });
  }
}
