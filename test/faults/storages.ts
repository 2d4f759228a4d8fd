import type { PayloadStore, Storage } from '../../lambda/storage/ports.ts';

/** The same storage with smaller records, so that even small states need segments and folds. */
export const withInlineBytes = (storage: Storage, inlineBytes: number): Storage => ({
  records: { ...storage.records, maxInlineBytes: inlineBytes },
  payloads: storage.payloads,
});

/** The same storage, with the age of payloads by this clock, since S3 uses its own. */
export function withPayloadTimes(storage: Storage, now: () => number): Storage {
  const times = new Map<string, number>();
  const { payloads } = storage;
  const written = (partition: string, id: string) => void times.set(`${partition}/${id}`, now());
  const timed: PayloadStore = {
    ...payloads,
    async put(partition, id, content) {
      await payloads.put(partition, id, content);
      written(partition, id);
    },
    async copy(from, to) {
      const copied = await payloads.copy(from, to);
      if (copied) written(to.partition, to.id);
      return copied;
    },
    async *list(scope) {
      for await (const found of payloads.list(scope))
        yield { ...found, writtenAt: times.get(`${found.partition}/${found.id}`) ?? found.writtenAt };
    },
  };
  return { records: storage.records, payloads: timed };
}

/** Copies all records and payloads of these partitions into another storage. */
export async function copyInto(target: Storage, source: Storage, partitions: readonly string[]): Promise<void> {
  for (const partition of partitions) {
    const { records, next } = await source.records.range(partition);
    if (next !== undefined) throw new Error('More than one page is not copied.');
    for (const record of records) await target.records.commit([{ put: record, when: 'absent' }]);
    for await (const { id } of source.payloads.list(partition)) {
      const content = await source.payloads.open(partition, id);
      if (content) await target.payloads.put(partition, id, content);
    }
  }
}
