import type { PayloadStore, RecordStore, Storage } from '../../lambda/storage/ports.ts';

/** The error with which a process dies in these tests. */
export class Crash extends Error {
  override readonly name = 'Crash';
}

export interface CrashingStorage extends Storage {
  /** The number of calls so far that change something. */
  readonly calls: () => number;
}

/**
 * A storage as a process sees it that dies at its n-th call that changes something, before or after the call takes
 * effect: from then on nothing that it does reaches the storage.
 */
export function crashingStorage(
  storage: Storage,
  at: { readonly call: number; readonly when: 'before' | 'after' },
): CrashingStorage {
  let calls = 0;
  let dead = false;
  const alive = () => {
    if (dead) throw new Crash('The process is dead.');
  };
  const die = (): never => {
    dead = true;
    throw new Crash(`The process died ${at.when} call ${at.call}.`);
  };
  const changing = async <T>(run: () => Promise<T>): Promise<T> => {
    alive();
    const now = ++calls === at.call;
    if (now && at.when === 'before') die();
    const result = await run();
    if (now) die();
    return result;
  };
  const reading = async <T>(run: () => Promise<T>): Promise<T> => {
    alive();
    return run();
  };
  const records: RecordStore = {
    maxInlineBytes: storage.records.maxInlineBytes,
    compressesSmallBodies: storage.records.compressesSmallBodies,
    clockAheadMs: storage.records.clockAheadMs,
    read: (...args) => reading(() => storage.records.read(...args)),
    range: (...args) => reading(() => storage.records.range(...args)),
    list: (...args) => reading(() => storage.records.list(...args)),
    commit: (writes) => changing(() => storage.records.commit(writes)),
    close: async () => {},
  };
  const payloads: PayloadStore = {
    put: (...args) => changing(() => storage.payloads.put(...args)),
    open: (...args) => reading(() => storage.payloads.open(...args)),
    copy: (...args) => changing(() => storage.payloads.copy(...args)),
    async *list(prefix) {
      for await (const found of storage.payloads.list(prefix)) {
        alive();
        yield found;
      }
    },
    remove: (partition, ids) =>
      ids.length === 0 ? reading(async () => {}) : changing(() => storage.payloads.remove(partition, ids)),
    close: async () => {},
  };
  return { records, payloads, calls: () => calls };
}
