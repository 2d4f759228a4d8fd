import { setImmediate } from 'node:timers/promises';
import type { PayloadStore, RecordStore, Storage } from '../../lambda/storage/ports.ts';
import { randomFrom } from './seeded.ts';

/** Chooses which of the waiting actors continues. */
export type Choose = (waiting: number) => number;

/** Lets several actors run at once, one call to their storage at a time, in an order that is chosen call by call. */
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
    const over = new Set<number>();
    const results = actors.map((actor, index) => actor().finally(() => over.add(index)));
    const all = Promise.allSettled(results);
    while (over.size < actors.length) {
      await this.#settled(over);
      const ready = this.#waiting.filter(({ length }) => length > 0);
      if (ready.length > 0) ready[choose(ready.length)]?.shift()?.();
    }
    this.#started = false;
    return all;
  }

  /**
   * Until every actor waits for its turn or has finished. What they do in between takes only time of this process.
   */
  async #settled(over: ReadonlySet<number>): Promise<void> {
    for (let tries = 0; tries < 1_000_000; tries++) {
      await setImmediate();
      if (this.#waiting.every(({ length }, actor) => length > 0 || over.has(actor))) return;
    }
    throw new Error('An actor neither calls its storage nor ends.');
  }

  /** The storage as one actor sees it. */
  storageFor(actor: number, storage: Storage): Storage {
    const inTurn = async <T>(run: () => Promise<T>): Promise<T> => {
      await this.turn(actor);
      return run();
    };
    const records: RecordStore = {
      maxInlineBytes: storage.records.maxInlineBytes,
      compressesSmallBodies: storage.records.compressesSmallBodies,
      read: (...args) => inTurn(() => storage.records.read(...args)),
      range: (...args) => inTurn(() => storage.records.range(...args)),
      list: (...args) => inTurn(() => storage.records.list(...args)),
      commit: (writes) => inTurn(() => storage.records.commit(writes)),
      close: async () => {},
    };
    const turn = () => this.turn(actor);
    const payloads: PayloadStore = {
      put: (...args) => inTurn(() => storage.payloads.put(...args)),
      open: (...args) => inTurn(() => storage.payloads.open(...args)),
      copy: (...args) => inTurn(() => storage.payloads.copy(...args)),
      async *list(prefix) {
        await turn();
        yield* storage.payloads.list(prefix);
      },
      remove: (...args) => inTurn(() => storage.payloads.remove(...args)),
      close: async () => {},
    };
    return { records, payloads };
  }
}

/**
 * Ways to choose: every one there is, if those are no more than `most`; otherwise that many of them that differ at
 * their ends, and as many again at random. Each must be used to its end before the next is asked for.
 */
export function* choices(most: number, seed: number): Generator<Choose> {
  let path: number[] = [];
  for (let count = 0; count < most; count++) {
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
  for (let count = 0; count < most; count++) yield (waiting) => Math.floor(random() * waiting);
}
