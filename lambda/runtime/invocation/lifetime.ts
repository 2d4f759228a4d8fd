import { setMaxListeners } from 'node:events';
import type { Clock } from '../clock.ts';

// Before its deadline an invocation begins nothing new, and shortly before it lets go of what it runs: of a short time, a
// part of it.
const YIELD = { ms: 5_000, part: 0.2 };
const LET_GO = { ms: 1_000, part: 0.05 };

/** The time that an invocation has, which is a little less than that of its function. */
export class Lifetime {
  /** Aborts when what runs must be let go. */
  readonly cutoff = new AbortController();
  readonly #clock: Clock;
  readonly #yieldsAt: number;
  readonly #timers = new AbortController();
  #yielding = false;

  /** `changed` is called whenever less may be done than before. */
  constructor(clock: Clock, deadline: number, changed: () => void) {
    this.#clock = clock;
    const given = Math.max(0, deadline - clock.now());
    const before = ({ ms, part }: typeof YIELD) => deadline - Math.min(ms, given * part);
    this.#yieldsAt = before(YIELD);
    setMaxListeners(0, this.cutoff.signal);
    const at = async (time: number, then: () => void) => {
      try {
        await clock.sleep(Math.max(0, time - clock.now()), this.#timers.signal, true);
        then();
        changed();
      } catch {
        // The invocation is over.
      }
    };
    void at(this.#yieldsAt, () => {
      this.#yielding = true;
    });
    void at(before(LET_GO), () => this.cutoff.abort());
  }

  /** Whether the run is to go on in another invocation. */
  get isYielding(): boolean {
    return this.#yielding;
  }

  /** How much time is left for what runs in this process. */
  get remainingMs(): number {
    return this.#yieldsAt - this.#clock.now();
  }

  /** The invocation is over: nothing has to happen in time any more. */
  end(): void {
    this.#timers.abort();
  }
}
