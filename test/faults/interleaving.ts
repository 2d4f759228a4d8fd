import { setImmediate } from 'node:timers/promises';
import type { PayloadStore, RecordStore, Storage } from '../../lambda/storage/ports.ts';
import { randomFrom } from './seeded.ts';

/** Chooses which of the waiting actors continues. */
export type Choose = (waiting: number) => number;

/** Runs several actors concurrently, one storage call at a time, in an order that is chosen call by call. */
export class Interleaving {
  readonly #waiting: (() => void)[][];
  #started = false;

  constructor(actors: number) {
    this.#waiting = Array.from({ length: actors }, () => []);
  }

  /** Resolves when it is the actor's turn. */
  turn(actor: number): Promise<void> {
    if (!this.#started) return Promise.resolve();
    return new Promise((resolve) => this.#waiting[actor]?.push(resolve));
  }

  async run<T>(actors: readonly (() => Promise<T>)[], choose: Choose): Promise<PromiseSettledResult<T>[]> {
    this.#started = true;
    const finished = new Set<number>();
    const results = actors.map((actor, index) => actor().finally(() => finished.add(index)));
    const all = Promise.allSettled(results);
    while (finished.size < actors.length) {
      await this.#settled(finished);
      const ready = this.#waiting.filter(({ length }) => length > 0);
      if (ready.length > 0) ready[choose(ready.length)]?.shift()?.();
    }
    this.#started = false;
    return all;
  }

  /** Resolves when every actor waits for its turn or has finished. */
  async #settled(finished: ReadonlySet<number>): Promise<void> {
    for (let tries = 0; tries < 1_000_000; tries++) {
      await setImmediate();
      if (this.#waiting.every(({ length }, actor) => length > 0 || finished.has(actor))) return;
    }
    throw new Error('An actor neither calls its storage nor ends.');
  }

  /** The storage as one actor sees it. */
  storageFor(actor: number, storage: Storage): Storage {
    const onTurn = async <T>(run: () => Promise<T>): Promise<T> => {
      await this.turn(actor);
      return run();
    };
    const records: RecordStore = {
      maxInlineBytes: storage.records.maxInlineBytes,
      compressesSmallBodies: storage.records.compressesSmallBodies,
      clockAheadMs: storage.records.clockAheadMs,
      read: (...args) => onTurn(() => storage.records.read(...args)),
      range: (...args) => onTurn(() => storage.records.range(...args)),
      list: (...args) => onTurn(() => storage.records.list(...args)),
      commit: (writes) => onTurn(() => storage.records.commit(writes)),
      close: async () => {},
    };
    const turn = () => this.turn(actor);
    const payloads: PayloadStore = {
      put: (...args) => onTurn(() => storage.payloads.put(...args)),
      open: (...args) => onTurn(() => storage.payloads.open(...args)),
      copy: (...args) => onTurn(() => storage.payloads.copy(...args)),
      async *list(prefix) {
        await turn();
        yield* storage.payloads.list(prefix);
      },
      remove: (...args) => onTurn(() => storage.payloads.remove(...args)),
      close: async () => {},
    };
    return { records, payloads };
  }
}

/**
 * Orders to run in: every order, if there are at most `max`; otherwise `max` orders that differ near their ends, and as
 * many random ones. Each must be used completely before the next one is requested.
 */
export function* choices(max: number, seed: number): Generator<Choose> {
  let path: number[] = [];
  for (let count = 0; count < max; count++) {
    const taken: { chosen: number; of: number }[] = [];
    yield (waiting) => {
      const chosen = path[taken.length] ?? 0;
      taken.push({ chosen, of: waiting });
      return chosen;
    };
    const last = taken.findLastIndex(({ chosen, of }) => chosen + 1 < of);
    if (last < 0) return;
    path = taken.slice(0, last + 1).map(({ chosen }, index) => (index === last ? chosen + 1 : chosen));
  }
  const random = randomFrom(seed);
  for (let count = 0; count < max; count++) yield (waiting) => Math.floor(random() * waiting);
}
