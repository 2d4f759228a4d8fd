import type { Storage, Write } from '../../../lambda/storage/ports.ts';

export interface RecordingStorage extends Storage {
  /** Every call so far, by name, in order. */
  readonly calls: string[];
}

/**
 * A storage in front of another that notes what it is asked for. `beforeCommit` and `afterCommit` may throw or write
 * something of their own: what happens between two operations of a store.
 */
export function recordCalls(
  { records, payloads }: Storage,
  hooks: {
    readonly beforeCommit?: (writes: readonly Write[]) => Promise<void> | void;
    readonly afterCommit?: (writes: readonly Write[]) => Promise<void> | void;
  } = {},
): RecordingStorage {
  const calls: string[] = [];
  const noted = <A extends unknown[], R>(name: string, call: (...args: A) => R) => {
    return (...args: A): R => {
      calls.push(name);
      return call(...args);
    };
  };
  return {
    calls,
    records: {
      maxInlineBytes: records.maxInlineBytes,
      compressesSmallBodies: records.compressesSmallBodies,
      clockAheadMs: records.clockAheadMs,
      read: noted('read', records.read),
      range: noted('range', records.range),
      list: noted('list', records.list),
      commit: noted('commit', async (writes: readonly Write[]) => {
        await hooks.beforeCommit?.(writes);
        await records.commit(writes);
        await hooks.afterCommit?.(writes);
      }),
      close: records.close,
    },
    payloads: {
      put: noted('put', payloads.put),
      open: noted('open', payloads.open),
      copy: noted('copy', payloads.copy),
      list: noted('payloads', payloads.list),
      remove: noted('remove', payloads.remove),
      close: payloads.close,
    },
  };
}
