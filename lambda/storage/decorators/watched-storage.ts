import type { Page, Storage } from '../ports.ts';

/** Hears what a storage does, for those who wait for it; all are counted from when somebody began to listen. */
export interface StorageWatcher {
  read?(records: number): void;
  written?(records: number): void;
  opened?(payloads: number): void;
}

/** The same storage, with somebody who hears what it does; `watch` says who. */
export function watchedStorage(storage: Storage): { readonly storage: Storage; watch(watcher: StorageWatcher): void } {
  let watcher: StorageWatcher = {};
  let count = { read: 0, written: 0, opened: 0 };
  const heard = async (page: Promise<Page>): Promise<Page> => {
    const { records } = await page;
    count.read += records.length;
    watcher.read?.(count.read);
    return page;
  };
  const { records, payloads } = storage;
  return {
    watch: (by) => {
      watcher = by;
      count = { read: 0, written: 0, opened: 0 };
    },
    storage: {
      records: {
        ...records,
        range: (...args) => heard(records.range(...args)),
        commit: async (writes) => {
          await records.commit(writes);
          count.written += writes.length;
          watcher.written?.(count.written);
        },
      },
      payloads: {
        ...payloads,
        open: (...args) => {
          count.opened += 1;
          watcher.opened?.(count.opened);
          return payloads.open(...args);
        },
      },
    },
  };
}
