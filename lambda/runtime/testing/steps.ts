import { operationName } from '../journal/identity.ts';
import type { Probe, StepPhase } from '../runtime.ts';

/** A process that dies: before the function of a step, after it, or when its result is recorded. */
export type Crash = { readonly [M in StepPhase]?: string } & {
  /** How often. @default 1 */
  readonly times?: number;
};

/** Sees every step of a test pass, and lets the process die where that is planned. */
export class StepTracker {
  readonly #crashes: { readonly crash: Crash; left: number }[] = [];
  #running = 0;
  #passed = 0;

  /** How many functions of steps run at the moment. */
  get running(): number {
    return this.#running;
  }

  /** How many moments of steps have passed. */
  get passed(): number {
    return this.#passed;
  }

  /** Lets the process die when it next gets there; a step is known by its name, or by its whole identity. */
  planCrash(crash: Crash): void {
    this.#crashes.push({ crash, left: crash.times ?? 1 });
  }

  readonly probe: Probe = (moment, _run, step) => {
    this.#passed += 1;
    if (moment === 'before') this.#running += 1;
    if (moment === 'after') this.#running -= 1;
    const planned = this.#crashes.find(
      ({ crash, left }) => left > 0 && [step, operationName(step)].includes(crash[moment] ?? ''),
    );
    if (!planned) return undefined;
    planned.left -= 1;
    if (moment === 'before') this.#running -= 1;
    return 'crash';
  };
}
