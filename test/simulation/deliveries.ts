import { isWaitstateError } from '../../lambda/core/errors.ts';
import type { InvokeResult } from '../../lambda/runtime/agent/agent.ts';
import type { Delivery } from '../../lambda/runtime/runtime.ts';
import { type Agents, agentsIn } from './agents.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

interface Container {
  readonly process: Process;
  readonly agents: Agents;
}

const MARGIN_MS = 500;
const LAMBDA_RETRIES = 2;
// Longer than any pause between two attempts.
const IDLE_MS = 10_000;

/** Delivers runs to functions: late, twice, or not at all. */
export class Deliveries {
  readonly #world: World;
  /** Warm containers that wait for the next invocation, with everything that they cached. */
  readonly #idle: Container[] = [];
  readonly #busy = new Map<Process, string>();
  #count = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** The `deliver` function of a process; a delivery may be lost. */
  from(process: Process): (delivery: Delivery) => Promise<void> {
    return (delivery) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.deliver(delivery);
      process.afterDelay(this.#world.chance.between(1, 50), resolve);
      return process.track(promise);
    };
  }

  deliver(delivery: Delivery): void {
    const { faults, chance, timeline } = this.#world;
    if (faults.losesDelivery()) {
      this.#world.note('network', `loses the delivery of ${delivery.run}`);
      return;
    }
    for (let copies = faults.doublesDelivery() ? 2 : 1; copies > 0; copies--) {
      this.#count += 1;
      const by = `invocation-${this.#count}`;
      timeline.after(chance.between(1, chance.happens(0.1) ? 90_000 : 100), () => this.#invoke(delivery, by, 0));
    }
  }

  /** Reports functions that wait for nothing but their deadline: such a run must suspend. */
  checkIdle(): void {
    for (const [process, run] of this.#busy)
      if (process.idleMs > IDLE_MS)
        this.#world.addFinding(`${process.name} runs ${run} and is idle, but does not suspend`);
  }

  #invoke(delivery: Delivery, by: string, retries: number): void {
    const world = this.#world;
    const container = this.#container();
    const { process } = container;
    let open = true;
    const close = (retry: boolean) => {
      if (!open) return;
      open = false;
      process.invocations.delete(delivery.run);
      process.onDeath.delete(died);
      if (retry && retries < LAMBDA_RETRIES && world.chance.happens(0.6))
        world.timeline.after(world.chance.between(100, 90_000), () => this.#invoke(delivery, by, retries + 1));
    };
    const died = () => {
      this.#busy.delete(process);
      close(true);
    };
    process.onDeath.add(died);
    process.begin();
    this.#busy.set(process, delivery.run);
    world.note(process, `is invoked for ${delivery.run} as ${by}`);
    const until = process.clock.now() + world.functionMs - MARGIN_MS;
    const invocation = { process, deadline: until, isDisturbed: false };
    process.invocations.set(delivery.run, invocation);
    world.ledger.invocations.set(by, invocation);
    container
      .agents(delivery.agent ?? '')
      .invoke(delivery, { by, until })
      .then(
        (end) => this.#ended(container, delivery, end, close),
        (error) => this.#ended(container, delivery, { end: 'failed', error }, close),
      );
    world.timeline.after(world.functionMs, () => {
      // A paused process is not always stopped at its deadline.
      if (!open || process.dead || (process.isPaused && world.chance.happens(0.5))) return;
      world.note(process, 'is stopped at its deadline');
      process.die();
    });
  }

  #ended(container: Container, delivery: Delivery, end: InvokeResult, close: (retry: boolean) => void): void {
    const { process } = container;
    if (process.dead) return;
    this.#busy.delete(process);
    const failed = end.end === 'failed';
    this.#world.note(
      process,
      `ends ${delivery.run}: ${'reason' in end ? end.reason : 'status' in end ? end.status : end.end}`,
    );
    if (failed && !isWaitstateError(end.error, 'STORAGE_UNAVAILABLE'))
      this.#world.addFinding(`an invocation of ${delivery.run} failed: ${describeError(end.error)}`);
    close(failed);
    this.#idle.push(container);
  }

  #container(): Container {
    const world = this.#world;
    for (let warm = this.#idle.pop(); warm; warm = this.#idle.pop())
      if (!warm.process.dead && world.chance.happens(0.7)) return warm;
    const process = world.process('function');
    return { process, agents: agentsIn(world, process, this) };
  }
}

/** An error with the top of its stack. */
export const describeError = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 6).join(' | ') : String(error);
