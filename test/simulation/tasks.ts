import { isWaitstateError } from '../../lambda/core/errors.ts';
import { type Agents, agentsIn } from './agents.ts';
import { type Deliveries, describe } from './deliveries.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

/** Something that somebody outside does until he knows that it is done. */
export interface Task {
  readonly name: string;
  /** How far his clock is off, whichever process it is read by. @default by chance */
  readonly skewMs?: number;
  /** May be called again, by another process, when nobody knows whether it was done. */
  act(agents: Agents, process: Process, attempt: number): Promise<void>;
}

/** People and programs outside: each does one thing, and tries again after a crash or an error of the storage. */
export class Tasks {
  open = 0;
  readonly #world: World;
  readonly #deliveries: Deliveries;

  constructor(world: World, deliveries: Deliveries) {
    this.#world = world;
    this.#deliveries = deliveries;
  }

  /** Does it after a time; resolves nothing: who must know looks at the ledger. */
  later(milliseconds: number, task: Task): void {
    this.open += 1;
    this.#world.timeline.after(milliseconds, () => this.#attempt(task, 1));
  }

  #attempt(task: Task, attempt: number): void {
    const world = this.#world;
    const process = world.process(task.name, task.skewMs);
    const agents = agentsIn(world, process, this.#deliveries);
    const again = () => world.timeline.after(world.chance.between(10, 30_000), () => this.#attempt(task, attempt + 1));
    process.onDeath.add(again);
    task.act(agents, process, attempt).then(
      () => {
        if (process.dead) return;
        process.onDeath.delete(again);
        this.open -= 1;
        world.note(process, 'is done');
      },
      (error) => {
        if (process.dead) return;
        process.onDeath.delete(again);
        world.note(process, 'fails', undefined, error);
        if (!isWaitstateError(error, 'STORAGE_UNAVAILABLE'))
          world.wrong(`${process.name} could not do it: ${describe(error)}`);
        again();
      },
    );
  }
}
