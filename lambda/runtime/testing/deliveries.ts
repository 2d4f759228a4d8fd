import { setTimeout as realTime, setImmediate as tick } from 'node:timers/promises';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { WaitstateError } from '../../core/errors.ts';
import type { AnyAgent, InvokeResult } from '../agent/agent.ts';
import type { Delivery } from '../runtime.ts';
import type { StepTracker } from './steps.ts';
import type { TestClock } from './test-clock.ts';

// How long nothing may happen, in real time, before the clock advances to the deadline of a function.
const MAX_QUIET_MS = 1_000;

/** The test environment that deliveries run in. */
interface DeliveryEnvironment {
  readonly clock: TestClock;
  readonly steps: StepTracker;
  readonly agents: ReadonlyMap<string, AnyAgent>;
  readonly functionTimeout: Duration;
  /** How many times each delivery is made, concurrently. */
  readonly copies: number;
  /** Sweeps once; returns whether anything was due. */
  readonly sweep: () => Promise<boolean>;
}

/** Delivers runs to their agents as AWS does, until every run has ended or waits. */
export class Deliveries {
  /** The result of each invocation, in order of completion. */
  readonly invocations: InvokeResult[] = [];
  readonly #queue: Delivery[];
  readonly #environment: DeliveryEnvironment;
  #inFlight = 0;
  #count = 0;

  constructor(queue: Delivery[], environment: DeliveryEnvironment) {
    this.#queue = queue;
    this.#environment = environment;
  }

  /** Runs every run as far as it gets without advancing the clock beyond short waits. */
  async settle(): Promise<void> {
    let failure: unknown;
    for (;;) {
      this.#deliver((error) => {
        failure ??= error;
      });
      await this.#advance();
      if (failure) throw failure;
      if (this.#inFlight > 0 || this.#queue.length > 0) continue;
      const wasSwept = await this.#environment.sweep();
      if (this.#queue.length === 0 && !wasSwept) return;
    }
  }

  #deliver(onFailure: (error: unknown) => void): void {
    for (const delivery of this.#queue.splice(0)) {
      for (let i = 0; i < this.#environment.copies; i++) {
        this.#inFlight += 1;
        this.#count += 1;
        this.#invoke(delivery, `invocation-${this.#count}`).then(
          () => {
            this.#inFlight -= 1;
          },
          (error) => {
            this.#inFlight -= 1;
            onFailure(error);
          },
        );
      }
    }
  }

  async #invoke(delivery: Delivery, by: string): Promise<void> {
    const { agents, clock, functionTimeout } = this.#environment;
    const agent = agents.get(delivery.agent ?? '');
    if (!agent)
      throw new WaitstateError(
        'AGENT_NOT_FOUND',
        `Run "${delivery.run}" belongs to agent "${delivery.agent}", which this test does not have. Pass the agent in \`agents\`.`,
      );
    const until = clock.now() + toMilliseconds('`functionTimeout`', functionTimeout);
    const outcome = await agent.invoke(delivery, { by, until });
    this.invocations.push(outcome);
    // Lambda retries a failed asynchronous invocation with the same request id.
    if (outcome.end === 'failed') await this.#invoke(delivery, by);
  }

  /** Waits until every invocation waits for the clock, and advances the clock to the next wait. */
  async #advance(): Promise<void> {
    const { clock, steps } = this.#environment;
    for (let quiet = 0, began = performance.now(); this.#inFlight > 0 && quiet < 8; quiet++) {
      await tick();
      if (steps.running > 0) {
        await realTime(1);
        quiet = 0;
      }
      if (performance.now() - began > 30_000) break;
    }
    const isStalled = () => this.#inFlight > 0 && steps.running === 0 && clock.next === undefined;
    // Only function deadlines are left: first give code outside steps some real time to finish.
    for (let waited = 0, passed = steps.passed; isStalled() && waited < MAX_QUIET_MS; waited += 5) {
      await realTime(5);
      if (steps.passed !== passed) waited = 0;
      passed = steps.passed;
    }
    const next = clock.next ?? clock.nextDeadline;
    if (this.#inFlight > 0 && steps.running === 0 && next !== undefined) clock.moveTo(next);
  }
}
