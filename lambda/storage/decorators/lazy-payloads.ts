import type { PayloadStore } from '../ports.ts';

/** A payload store that is loaded on first use, because most steps never need it. */
export function lazyPayloadStore(load: () => Promise<PayloadStore>): PayloadStore {
  let loaded: Promise<PayloadStore> | undefined;
  const store = () => {
    loaded ??= load();
    return loaded;
  };
  return {
    put: async (partition, id, content) => (await store()).put(partition, id, content),
    open: async (partition, id) => (await store()).open(partition, id),
    copy: async (from, to) => (await store()).copy(from, to),
    remove: async (partition, ids) => (await store()).remove(partition, ids),
    async *list(...args) {
      yield* (await store()).list(...args);
    },
    async close() {
      await (await loaded)?.close();
    },
  };
}
