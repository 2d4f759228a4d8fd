import type { RunCipher } from './encryption/run-cipher.ts';
import type { LoadedCheckpoint } from './loaded-checkpoint.ts';

// For this long a checkpoint is written on without looking first: far below the day for which a deleted run's keys stay
// taken.
const MAX_FRESH_MS = 5 * 60_000;

/** What this process knows of runs, so that a step costs one request and a key is unwrapped once. */
export interface Cache {
  /** The newest checkpoint that was seen, however long ago; for what is only compared. */
  lastSeen(partition: string): LoadedCheckpoint | undefined;
  /** The same, unless it was seen too long ago to write on it unseen. */
  fresh(partition: string, now: number): LoadedCheckpoint | undefined;
  remember(partition: string, loaded: LoadedCheckpoint): void;
  forget(partition: string): void;
  /** How the bytes of a run are opened, and for which key and owner that was found out. */
  readonly ciphers: BoundedMap<{ readonly wrappedKeyId: string; readonly cipher: RunCipher }>;
}

export function createCache(size: number): Cache {
  const runs = new BoundedMap<LoadedCheckpoint>(size);
  return {
    ciphers: new BoundedMap(size),
    lastSeen: (partition) => runs.get(partition),
    fresh(partition, now) {
      const loaded = runs.get(partition);
      return loaded && Math.abs(now - loaded.seenAt) < MAX_FRESH_MS ? loaded : undefined;
    },
    remember: (partition, loaded) => runs.set(partition, loaded),
    forget: (partition) => runs.delete(partition),
  };
}

/** A map that lets go of what was set longest ago. */
class BoundedMap<V> {
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
