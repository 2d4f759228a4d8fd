import type fc from 'fast-check';
import type { Checkpoint } from '../../../lambda/checkpoints/checkpoint.ts';
import type { CheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import type { Clock } from '../clock.ts';
import type { Model, SaveOf, SeenVersion } from './model.ts';

/** The stores under test: several on one storage, as several processes would have them. */
export interface World {
  readonly clock: Clock;
  readonly stores: CheckpointStore[];
  /** A store that knows nothing yet, as after a restart. */
  reopen(place: number): CheckpointStore;
  /** The checkpoint that the caller of each store last got of each run. */
  readonly seen: Map<string, SeenVersion & Pick<Checkpoint, 'hash'>>[];
  /** The last save of each run with a write id, for retrying it. */
  readonly saves: Map<string, SaveOf>;
  writeIds: number;
}

export type Command = fc.AsyncCommand<Model, World>;

/** One thing that is done to the model and to a store, in which both must come to the same. */
class Act<Args> implements Command {
  readonly #name: string;
  readonly #args: Args;
  readonly #act: (model: Model, world: World, args: Args) => Promise<unknown>;

  constructor(name: string, args: Args, act: (model: Model, world: World, args: Args) => Promise<unknown>) {
    this.#name = name;
    this.#args = args;
    this.#act = act;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, world: World): Promise<void> {
    await this.#act(model, world, this.#args);
    if (model.now !== world.clock.now) throw new Error('The model and the stores have different times.');
  }

  toString(): string {
    const short = (_: string, value: unknown) =>
      typeof value === 'string' && value.length > 12 ? `${value.slice(0, 5)}… ${value.length}` : value;
    return `${this.#name}(${JSON.stringify(this.#args, short)})`;
  }
}

export const act = <Args>(
  name: string,
  args: fc.Arbitrary<Args>,
  run: (model: Model, world: World, args: Args) => Promise<unknown>,
) => args.map((given) => new Act(name, given, run));

export const storeOf = (world: World, place: number): CheckpointStore => world.stores[place] as CheckpointStore;

export function restart(world: World, place: number): void {
  world.stores[place] = world.reopen(place);
  world.seen[place] = new Map();
}

export const seenBy = (world: World, place: number) =>
  world.seen[place] as Map<string, SeenVersion & Pick<Checkpoint, 'hash'>>;

export interface ByStore {
  readonly store: number;
  readonly run: string;
}

export function repeat<T>(times: number, one: T): readonly T[] {
  return Array.from({ length: times }, () => one);
}
