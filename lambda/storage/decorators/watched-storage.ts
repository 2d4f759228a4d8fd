import type { Page, Storage } from '../ports.ts';

/** Callbacks with the progress of a storage; the counts start when the watcher is set. */
export interface StorageWatcher {
  onRead?(records: number): void;
  onWritten?(records: number): void;
  onPayloadOpened?(payloads: number): void;
}

/** The same storage with progress reports; `watch` sets the watcher and resets the counts. */
export function watchedStorage(storage: Storage): { readonly storage: Storage; watch(watcher: StorageWatcher): void } {
  let watcher: StorageWatcher = {};
  let count = { read: 0, written: 0, payloadsOpened: 0 };
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
      count = { read: 0, written: 0, payloadsOpened: 0 };
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
          count.payloadsOpened += 1;
          watcher.onPayloadOpened?.(count.payloadsOpened);
          return payloads.open(...args);
        },
      },
    },
  };
}
