import type { Page, Storage } from '../ports.ts';

/** Hears what a storage does, for those who wait for it; all are counted from when somebody began to listen. */
export interface StorageWatcher {
  onRead?(records: number): void;
  onWritten?(records: number): void;
  onPayloadOpened?(payloads: number): void;
}

/** The same storage, with somebody who hears what it does; `watch` says who. */
export function watchedStorage(storage: Storage): { readonly storage: Storage; watch(watcher: StorageWatcher): void } {
  let watcher: StorageWatcher = {};
  let count = { read: 0, written: 0, loaded: 0 };
  const countRead = async (page: Promise<Page>): Promise<Page> => {
    const { records } = await page;
    count.read += records.length;
    watcher.onRead?.(count.read);
    return page;
  };
  const { records, payloads } = storage;
  return {
    watch: (newWatcher) => {
      watcher = newWatcher;
      count = { read: 0, written: 0, loaded: 0 };
    },
    storage: {
      records: {
        ...records,
        range: (...args) => countRead(records.range(...args)),
        commit: async (writes) => {
          await records.commit(writes);
          count.written += writes.length;
          watcher.onWritten?.(count.written);
        },
      },
      payloads: {
        ...payloads,
        open: (...args) => {
          count.loaded += 1;
          watcher.onPayloadOpened?.(count.loaded);
          return payloads.open(...args);
        },
      },
    },
  };
}
