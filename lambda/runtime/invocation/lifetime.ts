import { setMaxListeners } from 'node:events';
import type { Clock } from '../clock.ts';

// How long before its deadline an invocation starts nothing new, and how long before it abandons what still runs. An
// invocation that has little time uses a fraction of it.
const YIELD = { ms: 5_000, fraction: 0.2 };
const CUTOFF = { ms: 1_000, fraction: 0.05 };

/** The time that an invocation has, which is a little less than the time of its function. */
export class Lifetime {
  /** Aborts when operations that still run are abandoned. */
  readonly cutoff = new AbortController();
  readonly #clock: Clock;
  readonly #yieldsAt: number;
  readonly #timers = new AbortController();
  #isYielding = false;

  /** `onChange` is called when the invocation begins to yield, and at the cutoff. */
  constructor(clock: Clock, deadline: number, onChange: () => void) {
    this.#clock = clock;
    const totalMs = Math.max(0, deadline - clock.now());
    const timeBefore = ({ ms, fraction }: typeof YIELD) => deadline - Math.min(ms, totalMs * fraction);
    this.#yieldsAt = timeBefore(YIELD);
    setMaxListeners(0, this.cutoff.signal);
    const schedule = async (time: number, action: () => void) => {
      try {
        await clock.sleep(Math.max(0, time - clock.now()), this.#timers.signal, true);
        action();
        onChange();
      } catch {
        // The invocation has ended.
      }
    };
    void schedule(this.#yieldsAt, () => {
      this.#isYielding = true;
    });
    void schedule(timeBefore(CUTOFF), () => this.cutoff.abort());
  }

  /** Whether this invocation starts nothing new, so that the run continues in another one. */
  get isYielding(): boolean {
    return this.#isYielding;
  }

  /** How much time is left until the invocation yields. */
  get remainingMs(): number {
    return this.#yieldsAt - this.#clock.now();
  }

  /** Stops the timers, because the invocation has ended. */
  end(): void {
    this.#timers.abort();
  }
}
