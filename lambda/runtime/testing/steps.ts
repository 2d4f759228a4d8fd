import { operationName } from '../journal/identity.ts';
import type { Probe, StepPhase } from '../runtime.ts';

/** A planned crash of the process: before a step's function, after it, or once its result is recorded. */
export type Crash = { readonly [M in StepPhase]?: string } & {
  /** How many times the process crashes there. @default 1 */
  readonly times?: number;
};

/** Observes every step of a test, and crashes the process where that is planned. */
export class StepTracker {
  readonly #crashes: { readonly crash: Crash; left: number }[] = [];
  #running = 0;
  #passed = 0;

  /** How many step functions are running. */
  get running(): number {
    return this.#running;
  }

  /** How many step phases have passed. */
  get passed(): number {
    return this.#passed;
  }

  /** Crashes the process when it next reaches the step, given by its name or its full operation id. */
  planCrash(crash: Crash): void {
    this.#crashes.push({ crash, left: crash.times ?? 1 });
  }

  readonly probe: Probe = (phase, _run, step) => {
    this.#passed += 1;
    if (phase === 'before') this.#running += 1;
    if (phase === 'after') this.#running -= 1;
    const planned = this.#crashes.find(
      ({ crash, left }) => left > 0 && [step, operationName(step)].includes(crash[phase] ?? ''),
    );
    if (!planned) return undefined;
    planned.left -= 1;
    if (phase === 'before') this.#running -= 1;
    return 'crash';
  };
}
