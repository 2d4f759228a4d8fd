import type { Page, Storage, StoredRecord } from '../../../lambda/storage/ports.ts';

/** The requests to a storage, and the bytes in each direction. */
export interface Counts {
  reads: number;
  ranges: number;
  lists: number;
  commits: number;
  /** The records in commits, and the records that were read. */
  recordsWritten: number;
  recordsRead: number;
  bytesWritten: number;
  bytesRead: number;
  puts: number;
  opens: number;
  payloadBytesWritten: number;
  payloadBytesRead: number;
}

export const NOTHING: Readonly<Counts> = {
  ...{ reads: 0, ranges: 0, lists: 0, commits: 0, recordsWritten: 0, recordsRead: 0, bytesWritten: 0, bytesRead: 0 },
  ...{ puts: 0, opens: 0, payloadBytesWritten: 0, payloadBytesRead: 0 },
};

export interface CountingStorage extends Storage {
  readonly counts: Counts;
  /** The counts since the last call. */
  since(): Counts;
}

const bytesOf = ({ partition, key, meta, body }: StoredRecord): number =>
  partition.length + key.length + meta.length + (body?.length ?? 0);

/** A storage that counts its requests, records and bytes. */
export function countingStorage({ records, payloads }: Storage): CountingStorage {
  const counts: Counts = { ...NOTHING };
  let last: Counts = { ...NOTHING };
  const read = (found: readonly StoredRecord[]): void => {
    counts.recordsRead += found.length;
    for (const record of found) counts.bytesRead += bytesOf(record);
  };
  const paged = (page: Page): Page => {
    read(page.records);
    return page;
  };
  return {
    counts,
    since() {
      const now = { ...counts };
      const fields = Object.keys(now) as (keyof Counts)[];
      const between = Object.fromEntries(fields.map((field) => [field, now[field] - last[field]]));
      last = now;
      return between as unknown as Counts;
    },
    records: {
      ...records,
      async read(partition, keys) {
        counts.reads += 1;
        const found = await records.read(partition, keys);
        read(found);
        return found;
      },
      async range(partition, options) {
        counts.ranges += 1;
        return paged(await records.range(partition, options));
      },
      async list(list, group, options) {
        counts.lists += 1;
        return paged(await records.list(list, group, options));
      },
      async commit(writes) {
        counts.commits += 1;
        counts.recordsWritten += writes.length;
        for (const write of writes) if ('put' in write) counts.bytesWritten += bytesOf(write.put);
        await records.commit(writes);
      },
    },
    payloads: {
      ...payloads,
      async put(partition, id, content) {
        counts.puts += 1;
        await payloads.put(partition, id, content instanceof Uint8Array ? sized(content) : tapped(content));
      },
      async open(partition, id) {
        counts.opens += 1;
        const content = await payloads.open(partition, id);
        return content && tappedRead(content);
      },
    },
  };

  function sized(content: Uint8Array): Uint8Array {
    counts.payloadBytesWritten += content.length;
    return content;
  }
  async function* tapped(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of content) yield sized(piece);
  }
  async function* tappedRead(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of content) {
      counts.payloadBytesRead += piece.length;
      yield piece;
    }
  }
}
