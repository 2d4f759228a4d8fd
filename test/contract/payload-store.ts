import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PayloadStore, StoredPayload } from '../../lambda/storage/ports.ts';

/** What every payload store must do; `open` gives one that may already hold other payloads. */
export function payloadStoreContract(name: string, open: () => Promise<PayloadStore>): void {
  describe(`a payload store on ${name}`, () => {
    let store: PayloadStore;
    beforeAll(async () => {
      store = await open();
    });

    async function contentOf(partition: string, id: string): Promise<Uint8Array | undefined> {
      const content = await store.open(partition, id);
      return content && gather(content);
    }

    async function listed(scope?: string): Promise<StoredPayload[]> {
      const all: StoredPayload[] = [];
      for await (const payload of store.list(scope)) all.push(payload);
      return all;
    }

    it('returns the stored bytes', async () => {
      const { partition, id } = aName();
      const content = bytes(100_000);
      await store.put(partition, id, content);
      expectSame(await contentOf(partition, id), content);
    });

    it('stores only the given view of a buffer', async () => {
      const { partition, id } = aName();
      const content = bytes(100);
      await store.put(partition, id, content.subarray(10, 20));
      expectSame(await contentOf(partition, id), content.slice(10, 20));
    });

    it('returns the bytes of a stream', async () => {
      const { partition, id } = aName();
      const pieces = [bytes(10), bytes(0), bytes(70_000), bytes(1)];
      await store.put(partition, id, streamOf(pieces));
      expectSame(await contentOf(partition, id), new Uint8Array(Buffer.concat(pieces)));
    });

    it('keeps an empty payload, from bytes and from a stream', async () => {
      const { partition } = aName();
      await store.put(partition, 'bytes', new Uint8Array(0));
      await store.put(partition, 'stream', streamOf([]));
      expect(await contentOf(partition, 'bytes')).toHaveLength(0);
      expect(await contentOf(partition, 'stream')).toHaveLength(0);
      expect((await listed(partition)).map(({ size }) => size)).toStrictEqual([0, 0]);
    });

    it('stores a stream of 20 MB and returns it in chunks', async () => {
      const { partition, id } = aName();
      const written = createHash('sha256');
      const piece = bytes(1_000_000);
      async function* content() {
        for (let i = 0; i < 20; i++) {
          piece[0] = i;
          written.update(piece);
          yield new Uint8Array(piece);
        }
      }
      await store.put(partition, id, content());
      const read = createHash('sha256');
      let pieces = 0;
      for await (const part of (await store.open(partition, id)) ?? []) {
        read.update(part);
        pieces++;
      }
      expect(read.digest('hex')).toBe(written.digest('hex'));
      expect(pieces).toBeGreaterThan(1);
      expect(await listed(partition)).toMatchObject([{ id, size: 20_000_000 }]);
    });

    it.each([10, 6_000_000])('leaves nothing behind when a stream fails after chunks of %i bytes', async (size) => {
      const { partition, id } = aName();
      async function* content() {
        yield bytes(size);
        yield bytes(size);
        throw new Error('the stream broke');
      }
      await expect(store.put(partition, id, content())).rejects.toThrow('the stream broke');
      expect(await store.open(partition, id)).toBeUndefined();
      expect(await listed(partition)).toStrictEqual([]);
    });

    it('shares no memory with writers or readers', async () => {
      const { partition, id } = aName();
      const content = bytes(1000);
      const given = new Uint8Array(content);
      await store.put(partition, id, given);
      given.fill(0);
      for await (const piece of (await store.open(partition, id)) ?? []) piece.fill(1);
      expectSame(await contentOf(partition, id), content);
    });

    it('returns undefined for an id that was not written', async () => {
      const { partition, id } = aName();
      expect(await store.open(partition, id)).toBeUndefined();
      await store.put(partition, id, bytes(1));
      expect(await store.open(partition, `${id}x`)).toBeUndefined();
      expect(await store.open(`${partition}x`, id)).toBeUndefined();
      expect(await store.open(partition.toUpperCase(), id)).toBeUndefined();
    });

    it('returns a payload to several readers at once', async () => {
      const { partition, id } = aName();
      const content = bytes(700_000);
      await store.put(partition, id, content);
      const all = await Promise.all([1, 2, 3].map(() => contentOf(partition, id)));
      for (const one of all) expectSame(one, content);
    });

    it('copies within a partition and to another', async () => {
      const [from, other] = [aName(), aName()];
      const content = bytes(300_000);
      await store.put(from.partition, from.id, content);
      expect(await store.copy(from, { partition: from.partition, id: 'copy' })).toBe(true);
      expect(await store.copy(from, other)).toBe(true);
      await store.remove(from.partition, [from.id]);
      expectSame(await contentOf(from.partition, 'copy'), content);
      expectSame(await contentOf(other.partition, other.id), content);
      expect(await listed(other.partition)).toMatchObject([{ id: other.id, size: content.length }]);
    });

    it('returns false for a copy of a missing payload, and creates nothing', async () => {
      const [from, to] = [aName(), aName()];
      expect(await store.copy(from, to)).toBe(false);
      expect(await store.open(to.partition, to.id)).toBeUndefined();
      expect(await listed(to.partition)).toStrictEqual([]);
    });

    it('lists the payloads of a partition, of a tenant and of all tenants, grouped by partition', async () => {
      const tenant = randomUUID();
      const names = ['a', 'a1', 'b%2F', 'other'].flatMap((run) =>
        ['1', '2', '3'].map((id) => ({ partition: `${tenant}/${run}`, id })),
      );
      // One of each partition after the other, so that an order of writing would not pass as together.
      for (const { partition, id } of names.toSorted((x, y) => Number(x.id) - Number(y.id))) {
        await store.put(partition, id, bytes(Number(id) * 10));
      }
      const all = await listed(tenant);
      expect(all.map(nameOf).toSorted()).toStrictEqual(names.map(nameOf).toSorted());
      const changes = all.filter(({ partition }, i) => partition !== all[i - 1]?.partition);
      expect(changes).toHaveLength(4);
      for (const { id, size } of all) expect(size).toBe(Number(id) * 10);
      expect((await listed(`${tenant}/a`)).map(nameOf).toSorted()).toStrictEqual(
        names.slice(0, 3).map(nameOf).toSorted(),
      );
      expect((await listed()).map(nameOf)).toEqual(expect.arrayContaining(names.map(nameOf)));
      expect(await listed(`${tenant}/c`)).toStrictEqual([]);
      expect(await listed(tenant.slice(0, -1))).toStrictEqual([]);
    });

    it('resumes a listing behind a partition', async () => {
      const tenant = randomUUID();
      for (const run of ['a', 'a-1', 'a1', 'b%2F'])
        for (const id of ['1', 'Z_-z']) await store.put(`${tenant}/${run}`, id, bytes(1));
      const all = await listed(tenant);
      for (const partition of new Set(all.map((each) => each.partition))) {
        const rest: StoredPayload[] = [];
        for await (const payload of store.list(tenant, partition)) rest.push(payload);
        const last = all.findLastIndex((each) => each.partition === partition);
        expect(rest.map(nameOf)).toStrictEqual(all.slice(last + 1).map(nameOf));
      }
    });

    it('reports when a payload was written', async () => {
      const { partition } = aName();
      for (const id of ['1', '2']) await store.put(partition, id, bytes(1));
      const times = (await listed(partition)).toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((one) => one.writtenAt);
      expect(times.every((time) => Number.isFinite(time) && time > 0)).toBe(true);
      expect(times).toStrictEqual(times.toSorted((a, b) => a - b));
    });

    it('removes payloads, and ignores missing ids', async () => {
      const { partition } = aName();
      const ids = Array.from({ length: 12 }, (_, i) => `id${i}`);
      await Promise.all(ids.map((id) => store.put(partition, id, bytes(5))));
      await store.remove(partition, [...ids.slice(1), 'never']);
      expect((await listed(partition)).map(({ id }) => id)).toStrictEqual(['id0']);
      await store.remove(partition, ids);
      await store.remove(partition, ids);
      await store.remove(partition, []);
      expect(await listed(partition)).toStrictEqual([]);
      expect(await store.open(partition, 'id0')).toBeUndefined();
    });

    it('accepts writes to a partition while others are removed from it', async () => {
      const { partition } = aName();
      for (let round = 0; round < 20; round++) {
        await store.put(partition, `old${round}`, bytes(5));
        const writes = [1, 2, 3].map((i) => store.put(partition, `new${round}.${i}`, bytes(5)));
        await Promise.all([...writes, store.remove(partition, [`old${round}`])]);
        const ids = [1, 2, 3].map((i) => `new${round}.${i}`);
        expect((await listed(partition)).map(({ id }) => id).toSorted()).toStrictEqual(ids);
        await store.remove(partition, ids);
      }
    });
  });
}

const aName = () => ({ partition: `contract/${randomUUID()}`, id: randomUUID() });
const nameOf = ({ partition, id }: { partition: string; id: string }): string => `${partition}#${id}`;
const bytes = (length: number): Uint8Array => new Uint8Array(randomBytes(length));

/** Compares bytes at once, because `toStrictEqual` compares them one by one. */
function expectSame(found: Uint8Array | undefined, content: Uint8Array): void {
  expect(found).toBeInstanceOf(Uint8Array);
  expect(found && Buffer.compare(found, content)).toBe(0);
}

async function* streamOf(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

async function gather(content: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return new Uint8Array(Buffer.concat(pieces));
}
