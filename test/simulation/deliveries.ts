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
// Longer than any pause between two tries.
const IDLE_MS = 10_000;

/** What brings runs to functions: late, twice, or not at all. */
export class Deliveries {
  readonly #world: World;
  /** Functions that have ended and wait for the next event, with all they remember. */
  readonly #idle: Container[] = [];
  readonly #busy = new Map<Process, string>();
  #count = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** How a process asks for a run to be delivered; that too may fail. */
  from(process: Process): (delivery: Delivery) => Promise<void> {
    return (delivery) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.bring(delivery);
      process.reach(this.#world.chance.between(1, 50), resolve);
      return process.awaits(promise);
    };
  }

  bring(delivery: Delivery): void {
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

  /** A function that waits for nothing but its deadline is paid for nothing. */
  checkIdle(): void {
    for (const [process, run] of this.#busy)
      if (process.idleMs > IDLE_MS) this.#world.wrong(`${process.name} has ${run}, and neither ends nor does anything`);
  }

  #invoke(delivery: Delivery, by: string, tried: number): void {
    const world = this.#world;
    const container = this.#container();
    const { process } = container;
    let open = true;
    const close = (again: boolean) => {
      if (!open) return;
      open = false;
      process.onDeath.delete(died);
      if (again && tried < LAMBDA_RETRIES && world.chance.happens(0.6))
        world.timeline.after(world.chance.between(100, 90_000), () => this.#invoke(delivery, by, tried + 1));
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
    process.deadline = until;
    container
      .agents(delivery.agent ?? '')
      .invoke(delivery, { by, until })
      .then(
        (end) => this.#ended(container, delivery, end, close),
        (error) => this.#ended(container, delivery, { end: 'failed', error }, close),
      );
    world.timeline.after(world.functionMs, () => {
      // What stands still is not always found and stopped.
      if (!open || process.dead || (process.stands && world.chance.happens(0.5))) return;
      world.note(process, 'is stopped at its deadline');
      process.die();
    });
  }

  #ended(container: Container, delivery: Delivery, end: InvokeResult, close: (again: boolean) => void): void {
    const { process } = container;
    if (process.dead) return;
    this.#busy.delete(process);
    const failed = end.end === 'failed';
    this.#world.note(
      process,
      `ends ${delivery.run}: ${'reason' in end ? end.reason : 'status' in end ? end.status : end.end}`,
    );
    if (failed && !isWaitstateError(end.error, 'STORAGE_UNAVAILABLE'))
      this.#world.wrong(`an invocation of ${delivery.run} failed: ${describe(end.error)}`);
    close(failed);
    this.#idle.push(container);
  }

  #container(): Container {
    const world = this.#world;
    for (let known = this.#idle.pop(); known; known = this.#idle.pop())
      if (!known.process.dead && world.chance.happens(0.7)) return known;
    const process = world.process('function');
    return { process, agents: agentsIn(world, process, this) };
  }
}

/** An error with where it came from. */
export const describe = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 6).join(' | ') : String(error);
