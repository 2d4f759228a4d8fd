import { isWaitstateError } from '../../lambda/core/errors.ts';
import { type Agents, agentsIn } from './agents.ts';
import { type Deliveries, describeError } from './deliveries.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

/** Something that a person or program does, and repeats until it is confirmed. */
export interface Task {
  readonly name: string;
  /** How far the clock of its processes is off. @default random */
  readonly skewMs?: number;
  /** May be called again, in another process, if it is unknown whether it succeeded. */
  act(agents: Agents, process: Process, attempt: number): Promise<void>;
}

/** Runs tasks, each in its own process, and retries them after a crash or a storage error. */
export class Tasks {
  pending = 0;
  readonly #world: World;
  readonly #deliveries: Deliveries;

  constructor(world: World, deliveries: Deliveries) {
    this.#world = world;
    this.#deliveries = deliveries;
  }

  /** Runs a task after a delay; its results are in the ledger. */
  later(milliseconds: number, task: Task): void {
    this.pending += 1;
    this.#world.timeline.after(milliseconds, () => this.#attempt(task, 1));
  }

  #attempt(task: Task, attempt: number): void {
    const world = this.#world;
    const process = world.process(task.name, task.skewMs);
    const agents = agentsIn(world, process, this.#deliveries);
    const retry = () => world.timeline.after(world.chance.between(10, 30_000), () => this.#attempt(task, attempt + 1));
    process.onDeath.add(retry);
    task.act(agents, process, attempt).then(
      () => {
        if (process.dead) return;
        process.onDeath.delete(retry);
        this.pending -= 1;
        world.note(process, 'is done');
      },
      (error) => {
        if (process.dead) return;
        process.onDeath.delete(retry);
        world.note(process, 'fails', undefined, error);
        if (!isWaitstateError(error, 'STORAGE_UNAVAILABLE'))
          world.addFinding(`${process.name} failed: ${describeError(error)}`);
        retry();
      },
    );
  }
}
