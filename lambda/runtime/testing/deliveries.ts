import { setTimeout as realTime, setImmediate as tick } from 'node:timers/promises';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { WaitstateError } from '../../core/errors.ts';
import type { AnyAgent, InvokeResult } from '../agent/agent.ts';
import type { Delivery } from '../runtime.ts';
import type { StepTracker } from './steps.ts';
import type { TestClock } from './test-clock.ts';

// How long nothing happens before the time is moved to the end of a function.
const PATIENCE_MS = 1_000;

/** What deliveries in a test need. */
interface Surroundings {
  readonly clock: TestClock;
  readonly steps: StepTracker;
  readonly agents: ReadonlyMap<string, AnyAgent>;
  readonly functionTimeout: Duration;
  /** How often each delivery comes. */
  readonly times: number;
  /** Sweeps once; says whether there was anything to do. */
  readonly sweep: () => Promise<boolean>;
}

/** Brings runs to their agents as AWS does, until nothing is left to do but by time. */
export class Deliveries {
  /** What each invocation came to, in their order. */
  readonly invocations: InvokeResult[] = [];
  readonly #queue: Delivery[];
  readonly #around: Surroundings;
  #under = 0;
  #count = 0;

  constructor(queue: Delivery[], around: Surroundings) {
    this.#queue = queue;
    this.#around = around;
  }

  /** Lets everything go as far as it can without waiting. */
  async settle(): Promise<void> {
    let failure: unknown;
    for (;;) {
      this.#deliver((error) => {
        failure ??= error;
      });
      await this.#goOn();
      if (failure) throw failure;
      if (this.#under > 0 || this.#queue.length > 0) continue;
      const wasSwept = await this.#around.sweep();
      if (this.#queue.length === 0 && !wasSwept) return;
    }
  }

  #deliver(failed: (error: unknown) => void): void {
    for (const delivery of this.#queue.splice(0)) {
      for (let i = 0; i < this.#around.times; i++) {
        this.#under += 1;
        this.#count += 1;
        this.#invoke(delivery, `invocation-${this.#count}`).then(
          () => {
            this.#under -= 1;
          },
          (error) => {
            this.#under -= 1;
            failed(error);
          },
        );
      }
    }
  }

  async #invoke(delivery: Delivery, by: string): Promise<void> {
    const { agents, clock, functionTimeout } = this.#around;
    const agent = agents.get(delivery.agent ?? '');
    if (!agent)
      throw new WaitstateError(
        'AGENT_NOT_FOUND',
        `Run "${delivery.run}" is of agent "${delivery.agent}", which this test does not know. Pass it in \`agents\`.`,
      );
    const until = clock.now() + toMilliseconds('`functionTimeout`', functionTimeout);
    const outcome = await agent.invoke(delivery, { by, until });
    this.invocations.push(outcome);
    // Lambda invokes an asynchronous event again that ended in an error, under the same id.
    if (outcome.end === 'failed') await this.#invoke(delivery, by);
  }

  /** Waits until nothing happens any more but by time, and moves the time over what is short. */
  async #goOn(): Promise<void> {
    const { clock, steps } = this.#around;
    for (let quiet = 0, began = performance.now(); this.#under > 0 && quiet < 8; quiet++) {
      await tick();
      if (steps.running > 0) {
        await realTime(1);
        quiet = 0;
      }
      if (performance.now() - began > 30_000) break;
    }
    const isStill = () => this.#under > 0 && steps.running === 0 && clock.next === undefined;
    // Only the ends of functions are left: give what is not in a step some real time first.
    for (let waited = 0, passed = steps.passed; isStill() && waited < PATIENCE_MS; waited += 5) {
      await realTime(5);
      if (steps.passed !== passed) waited = 0;
      passed = steps.passed;
    }
    const next = clock.next ?? clock.nextDeadline;
    if (this.#under > 0 && steps.running === 0 && next !== undefined) clock.moveTo(next);
  }
}
