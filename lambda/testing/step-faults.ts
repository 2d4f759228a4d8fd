import { invalidInput } from '../core/invalid-input.ts';
import { operationName } from '../core/operation-name.ts';
import type { Probe, StepPhase } from '../runtime/runtime.ts';
import { currentProcess, TestProcess } from './test-process.ts';

/**
 * The point of a step at which a fault happens: `before` its function is called, `after` it has returned, or once its
 * result is `recorded`. Exactly one of them names the step, by its name or by its full operation id.
 */
export type StepFault = { readonly [Phase in StepPhase]?: string } & {
  /** How many times the fault happens. @default 1 */
  readonly times?: number;
};

type FaultKind = 'crash' | 'stall';

interface PlannedFault {
  readonly kind: FaultKind;
  readonly phase: StepPhase;
  readonly step: string;
  left: number;
}

/** Observes the steps of a test, and crashes or stalls their processes where that is planned. */
export class StepFaults {
  /** The process of steps that the test runs itself, with `agent.invoke`. */
  readonly ownProcess = new TestProcess();
  readonly #planned: PlannedFault[] = [];
  #passed = 0;

  /** How many step phases have passed. */
  get passed(): number {
    return this.#passed;
  }

  /** Plans a fault for the next time that a process reaches a point of a step. */
  plan(kind: FaultKind, fault: StepFault): void {
    const { times, ...point } = Object(fault) as StepFault;
    const [[phase, step] = [], ...more] = Object.entries(point);
    if (more.length > 0 || !isStepPhase(phase) || typeof step !== 'string')
      throw invalidInput(`\`world.${kind}\``, "given one point of a step, such as `{ after: 'pay' }`", fault);
    this.#planned.push({ kind, phase, step, left: checkTimes(times) });
  }

  readonly probe: Probe = (phase, _run, step) => {
    const process = currentProcess.getStore() ?? this.ownProcess;
    return process.isStopped
      ? process.untilRunning().then(() => this.#pass(process, phase, step))
      : this.#pass(process, phase, step);
  };

  #pass(process: TestProcess, phase: StepPhase, step: string): ReturnType<Probe> {
    this.#passed += 1;
    if (phase === 'before') process.runningSteps += 1;
    if (phase === 'after') process.runningSteps -= 1;
    const planned = this.#planned.find(
      (fault) => fault.left > 0 && fault.phase === phase && [step, operationName(step)].includes(fault.step),
    );
    if (!planned) return undefined;
    planned.left -= 1;
    if (planned.kind === 'stall') {
      process.stall();
      return process.untilRunning();
    }
    if (phase === 'before') process.runningSteps -= 1;
    return 'crash';
  }
}

const isStepPhase = (phase: unknown): phase is StepPhase =>
  phase === 'before' || phase === 'after' || phase === 'recorded';

/** Throws INVALID_INPUT unless a fault happens a whole number of times. */
export function checkTimes(times = 1): number {
  if (times !== Infinity && !(Number.isSafeInteger(times) && times >= 1))
    throw invalidInput('`times`', 'a whole number from 1, or Infinity', times);
  return times;
}
