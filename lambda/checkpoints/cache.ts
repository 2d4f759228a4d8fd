import type { Sealing } from './encryption/run-cipher.ts';
import type { Opened } from './load.ts';

// For this long a checkpoint is written on without looking first: far below the day for which a deleted run's keys stay
// taken.
const TRUST_MS = 5 * 60_000;

/** What this process knows of runs, so that a step costs one request and a key is unwrapped once. */
export interface Cache {
  /** The newest checkpoint that was seen, however long ago; for what is only compared. */
  seen(partition: string): Opened | undefined;
  /** The same, unless it was seen too long ago to write on it unseen. */
  fresh(partition: string, now: number): Opened | undefined;
  keep(partition: string, opened: Opened): void;
  forget(partition: string): void;
  /** How the bytes of a run are opened, and for which key and owner that was found out. */
  readonly sealings: Bounded<{ readonly of: string; readonly sealing: Sealing }>;
}

export function cacheOf(size: number): Cache {
  const runs = new Bounded<Opened>(size);
  return {
    sealings: new Bounded(size),
    seen: (partition) => runs.get(partition),
    fresh(partition, now) {
      const opened = runs.get(partition);
      return opened && Math.abs(now - opened.seenAt) < TRUST_MS ? opened : undefined;
    },
    keep: (partition, opened) => runs.set(partition, opened),
    forget: (partition) => runs.delete(partition),
  };
}

/** A map that lets go of what was set longest ago. */
class Bounded<V> {
  readonly #size: number;
  readonly #map = new Map<string, V>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): V | undefined {
    return this.#map.get(key);
  }

  set(key: string, value: V): void {
    this.#map.delete(key);
    this.#map.set(key, value);
    const [oldest] = this.#map.keys();
    if (this.#map.size > this.#size && oldest !== undefined) this.#map.delete(oldest);
  }

  delete(key: string): void {
    this.#map.delete(key);
  }
}
