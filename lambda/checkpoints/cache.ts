import type { RunCipher } from './encryption/run-cipher.ts';
import type { LoadedCheckpoint } from './loaded-checkpoint.ts';

// How long a cached checkpoint may be written on without a read. This is far below the day for which the keys of a
// deleted run stay reserved.
const MAX_FRESH_MS = 5 * 60_000;

/** Caches the newest checkpoints and the data keys of runs: a step costs one request, and a key is unwrapped once. */
export interface Cache {
  /** The newest checkpoint that was seen, of any age; only for comparisons. */
  lastSeen(partition: string): LoadedCheckpoint | undefined;
  /** The newest checkpoint, unless it was seen too long ago to write on it without a read. */
  fresh(partition: string, now: number): LoadedCheckpoint | undefined;
  remember(partition: string, loaded: LoadedCheckpoint): void;
  forget(partition: string): void;
  /** The cipher of each run, and the wrapped key and owner that it is for. */
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

/** A map of limited size that drops the entry that was set longest ago. */
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
