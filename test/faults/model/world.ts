import type fc from 'fast-check';
import type { Checkpoint } from '../../../lambda/checkpoints/checkpoint.ts';
import type { CheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import type { Clock } from '../clock.ts';
import type { Model, SaveOf, SeenVersion } from './model.ts';

/** The stores under test: several on one storage, as several processes would have them. */
export interface World {
  readonly clock: Clock;
  readonly stores: CheckpointStore[];
  /** A store with an empty cache, as after a restart. */
  reopen(index: number): CheckpointStore;
  /** The checkpoint of each run that the caller of each store received last. */
  readonly seen: Map<string, SeenVersion & Pick<Checkpoint, 'hash'>>[];
  /** The last save of each run with a write id, for retrying it. */
  readonly saves: Map<string, SaveOf>;
  writeIds: number;
}

export type Command = fc.AsyncCommand<Model, World>;

/** An operation on the model and on a store, which must have the same outcome. */
class ModelCommand<Args> implements Command {
  readonly #name: string;
  readonly #args: Args;
  readonly #run: (model: Model, world: World, args: Args) => Promise<unknown>;

  constructor(name: string, args: Args, run: (model: Model, world: World, args: Args) => Promise<unknown>) {
    this.#name = name;
    this.#args = args;
    this.#run = run;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, world: World): Promise<void> {
    await this.#run(model, world, this.#args);
    if (model.now !== world.clock.now) throw new Error('The model and the stores have different times.');
  }

  toString(): string {
    const short = (_: string, value: unknown) =>
      typeof value === 'string' && value.length > 12 ? `${value.slice(0, 5)}… ${value.length}` : value;
    return `${this.#name}(${JSON.stringify(this.#args, short)})`;
  }
}

export const command = <Args>(
  name: string,
  args: fc.Arbitrary<Args>,
  run: (model: Model, world: World, args: Args) => Promise<unknown>,
) => args.map((given) => new ModelCommand(name, given, run));

export const storeOf = (world: World, index: number): CheckpointStore => world.stores[index] as CheckpointStore;

export function restart(world: World, index: number): void {
  world.stores[index] = world.reopen(index);
  world.seen[index] = new Map();
}

export const seenBy = (world: World, index: number) =>
  world.seen[index] as Map<string, SeenVersion & Pick<Checkpoint, 'hash'>>;

export interface ByStore {
  readonly store: number;
  readonly run: string;
}

export function repeat<T>(times: number, one: T): readonly T[] {
  return Array.from({ length: times }, () => one);
}
