import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ConditionFailedError,
  type ListName,
  type Page,
  type PageOptions,
  type RecordKey,
  type RecordStore,
  type StoredRecord,
  type Write,
} from '../../lambda/storage/ports.ts';
import { eventually } from './eventually.ts';

// More than any test here has, so that a cursor which does not move fails instead of looping forever.
const MAX_PAGES = 200;

/** What every record store must do; `open` gives one that may already hold other records. */
export function recordStoreContract(name: string, open: () => Promise<RecordStore>): void {
  describe(`a record store on ${name}`, () => {
    let store: RecordStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());

    const keysOf = (records: readonly StoredRecord[]) => records.map(({ key }) => key);
    const read = async ({ partition, key }: RecordKey) => (await store.read(partition, [key]))[0];
    const put = (...records: StoredRecord[]) => store.commit(records.map(creation));

    async function walk(
      page: (after: PageOptions) => Promise<Page>,
    ): Promise<{ records: StoredRecord[]; pages: number }> {
      const records: StoredRecord[] = [];
      let after: PageOptions = {};
      for (let pages = 1; ; pages++) {
        const { records: more, next } = await page(after);
        records.push(...more);
        if (next === undefined) return { records, pages };
        if (pages > MAX_PAGES) throw new Error(`there is still a next page after ${pages} pages`);
        after = { after: next };
      }
    }

    const rangeAll = (partition: string, options: PageOptions = {}) =>
      walk((after) => store.range(partition, { ...options, ...after }));
    const listAll = (list: ListName, group: string, options: PageOptions = {}) =>
      walk((after) => store.list(list, group, { ...options, ...after }));
    const listed = async (list: ListName, group: string, options?: PageOptions) =>
      keysOf((await listAll(list, group, options)).records);

    async function failureOf(writes: readonly Write[]): Promise<ConditionFailedError> {
      const error = await store.commit(writes).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      if (error instanceof ConditionFailedError) return error;
      throw new Error(`expected a ConditionFailedError, found ${error}`, { cause: error });
    }

    describe('reading and writing', () => {
      it('returns the written record', async () => {
        const record = aRecord({
          body: bytes(1000),
          lists: {
            status: { group: unique(), order: '1' },
            owner: { group: unique(), order: '2' },
            due: { group: unique(), order: '3' },
          },
        });
        await put(record);
        expect(await read(record)).toStrictEqual(record);
        expect((await store.range(record.partition)).records).toStrictEqual([record]);
      });

      it('knows after a response that it has the clock of this machine', async () => {
        const { partition, key } = aRecord();
        expect(store.clockAheadMs() ?? 0).toBe(0);
        await store.read(partition, [key]);
        expect(store.clockAheadMs()).toBe(0);
        expect({ ...store }.clockAheadMs()).toBe(0);
      });

      it('returns only the list entries that a record has', async () => {
        const record = aRecord({ lists: { due: { group: unique(), order: '1' } } });
        await put(record);
        expect(await read(record)).toStrictEqual(record);
      });

      it('returns the existing records of several keys, each once', async () => {
        const partition = aPartition();
        const records = ['a', 'b', 'c'].map((key) => aRecord({ partition, key, body: bytes(10) }));
        await put(...records);
        const found = await store.read(partition, ['c', 'missing', 'a']);
        expect(found.toSorted(byKey)).toStrictEqual(records.filter(({ key }) => key !== 'b'));
        expect(await store.read(partition, [])).toStrictEqual([]);
        expect(await store.read(aPartition(), ['a', 'b'])).toStrictEqual([]);
      });

      it('returns nothing for a missing key', async () => {
        expect(await read({ partition: aPartition(), key: 'k' })).toBeUndefined();
        expect(await store.range(aPartition())).toStrictEqual({ records: [] });
        expect(await store.list('status', unique())).toStrictEqual({ records: [] });
      });

      it('distinguishes an empty body from none', async () => {
        const [empty, none] = [aRecord({ body: new Uint8Array(0) }), aRecord()];
        await put(empty, none);
        expect((await read(empty))?.body).toStrictEqual(new Uint8Array(0));
        expect(await read(none)).not.toHaveProperty('body');
      });

      it('keeps every byte of a body', async () => {
        const record = aRecord({ body: Uint8Array.from({ length: 256 }, (_, i) => i) });
        await put(record);
        expect((await read(record))?.body).toStrictEqual(record.body);
      });

      it('stores only the given view of a buffer as the body', async () => {
        const whole = bytes(100);
        const record = aRecord({ body: whole.subarray(10, 20) });
        await put(record);
        expect((await read(record))?.body).toStrictEqual(new Uint8Array(whole.slice(10, 20)));
      });

      it('keeps every character of the metadata', async () => {
        const record = aRecord({ meta: JSON.stringify({ text: 'ä 漢字 🙂 \u0000 \u2028 "\\' }) });
        await put(record);
        expect((await read(record))?.meta).toBe(record.meta);
      });

      it('accepts a record of 300 KB', async () => {
        const record = aRecord({ body: bytes(300 * 1024) });
        await put(record);
        expect(sameBytes((await read(record))?.body, record.body)).toBe(true);
      });

      it('shares no memory with writers or readers', async () => {
        const body = bytes(100);
        const record = aRecord({ body: new Uint8Array(body) });
        await put(record);
        record.body?.fill(0);
        (await read(record))?.body?.fill(1);
        (await store.range(record.partition)).records[0]?.body?.fill(2);
        (await failureOf([creation(record)])).found.get(0)?.body?.fill(3);
        expect((await read(record))?.body).toStrictEqual(body);
      });

      it('keeps partitions with similar names apart', async () => {
        const base = aPartition();
        const names = [base, `${base}0`, `${base}/`, `${base}%2F`, base.toUpperCase(), `${base}#k`, ` ${base}`];
        await put(...names.map((partition) => aRecord({ partition, key: 'k', meta: partition })));
        for (const partition of names) {
          const { records } = await store.range(partition);
          expect(records.map(({ meta }) => meta)).toStrictEqual([partition]);
        }
      });
    });

    describe('records that expire', () => {
      // So far away that no storage removes them meanwhile.
      const MOMENT = Date.UTC(2100, 0, 1, 12, 0, 0, 1);
      /** The moment that a store keeps, of those that it may. */
      const kept = (moment: number) => (store.removesExpired ? Math.ceil(moment / 1000) * 1000 : undefined);

      it('are kept until they expire, and keep their expiry to the second, rounded up, if the storage removes them', async () => {
        for (const expiresAt of [MOMENT, MOMENT + 998, MOMENT + 999]) {
          const record = aRecord({ body: bytes(10), lists: { due: { group: unique(), order: '1' } } });
          await put({ ...record, expiresAt });
          const moment = kept(expiresAt);
          const expected = { ...record, ...(moment !== undefined && { expiresAt: moment }) };
          expect(await read(record)).toStrictEqual(expected);
          expect((await store.range(record.partition)).records).toStrictEqual([expected]);
          const { found } = await failureOf([creation(next(record))]);
          expect(found.get(0)?.expiresAt).toBe(moment);
        }
      });

      it('take over the expiry of the record that replaces them, or lose it', async () => {
        const lasting = aRecord();
        const passing = { ...next(lasting), expiresAt: MOMENT };
        await put(lasting);
        expect(await read(lasting)).not.toHaveProperty('expiresAt');
        await store.commit([change(lasting, passing)]);
        expect((await read(lasting))?.expiresAt).toBe(kept(MOMENT));
        const again = next(lasting);
        await store.commit([change(passing, again)]);
        expect(await read(lasting)).toStrictEqual(again);
      });
    });

    describe('conditions', () => {
      it('create a record only if it does not exist', async () => {
        const first = aRecord({ body: bytes(10) });
        await put(first);
        const { found } = await failureOf([creation(next(first))]);
        expect([...found.keys()]).toStrictEqual([0]);
        expect(contentOf(found.get(0))).toStrictEqual(contentOf(first));
        expect(await read(first)).toStrictEqual(first);
      });

      it('replace the named revision with the whole record', async () => {
        const first = aRecord({ body: bytes(10), lists: { due: { group: unique(), order: '1' } } });
        const { body: _, lists: __, ...second } = next(first);
        await put(first);
        await store.commit([change(first, second)]);
        expect(await read(first)).toStrictEqual(second);
      });

      it('do not replace another revision', async () => {
        const first = aRecord();
        const second = next(first);
        await put(first);
        await store.commit([change(first, second)]);
        const { found } = await failureOf([change(first, next(first))]);
        expect(contentOf(found.get(0))).toStrictEqual(contentOf(second));
        expect(await read(first)).toStrictEqual(second);
      });

      it('do not replace a missing record', async () => {
        const record = aRecord();
        const { found } = await failureOf([change(record, next(record))]);
        expect([...found]).toStrictEqual([[0, undefined]]);
        expect(await read(record)).toBeUndefined();
      });

      it('remove the named revision', async () => {
        const record = aRecord();
        await put(record);
        await store.commit([removal(record)]);
        expect(await read(record)).toBeUndefined();
        await put(next(record));
      });

      it('do not remove another revision or a missing record', async () => {
        const [there, gone] = [aRecord(), aRecord()];
        await put(there);
        const { found } = await failureOf([removal(next(there)), removal(gone)]);
        expect(contentOf(found.get(0))).toStrictEqual(contentOf(there));
        expect([found.has(1), found.get(1)]).toStrictEqual([true, undefined]);
        expect(await read(there)).toStrictEqual(there);
      });
    });

    describe('commits of several writes', () => {
      it('accept 100 writes', async () => {
        const partition = aPartition();
        const records = Array.from({ length: 100 }, (_, i) =>
          aRecord({ partition, key: `k${100 + i}`, body: bytes(10) }),
        );
        await put(...records);
        expect((await rangeAll(partition)).records).toStrictEqual(records);
        const changes = records.map((record, i) => (i % 2 ? removal(record) : change(record, next(record))));
        await store.commit(changes);
        expect(keysOf((await rangeAll(partition)).records)).toStrictEqual(
          keysOf(records).filter((_, i) => i % 2 === 0),
        );
      });

      it('accept no writes', async () => {
        await store.commit([]);
      });

      it('span several partitions', async () => {
        const records = [aRecord(), aRecord(), aRecord()];
        await put(...records);
        for (const record of records) expect(await read(record)).toStrictEqual(record);
      });

      it('write nothing when one condition fails, and report which', async () => {
        const [kept, fresh, taken] = [aRecord(), aRecord(), aRecord()];
        await put(kept, taken);
        const { found } = await failureOf([change(kept, next(kept)), creation(fresh), creation(next(taken))]);
        expect([...found.keys()]).toStrictEqual([2]);
        expect(contentOf(found.get(2))).toStrictEqual(contentOf(taken));
        expect(await read(kept)).toStrictEqual(kept);
        expect(await read(fresh)).toBeUndefined();
        expect(await read(taken)).toStrictEqual(taken);
      });

      it('report the current record for each of several failures', async () => {
        const [a, b, c, d] = [aRecord({ body: bytes(9) }), aRecord({ body: bytes(0) }), aRecord(), aRecord()];
        await put(a, b, d);
        const { found } = await failureOf([
          creation(next(a)),
          creation(aRecord()),
          change(next(b), next(b)),
          removal(c),
          removal(d),
          removal(next(b, 'other key')),
        ]);
        expect([...found.keys()].toSorted()).toStrictEqual([0, 2, 3, 5]);
        expect(contentOf(found.get(0))).toStrictEqual(contentOf(a));
        expect(contentOf(found.get(2))).toStrictEqual(contentOf(b));
        expect([found.get(3), found.get(5)]).toStrictEqual([undefined, undefined]);
        expect(await read(d)).toStrictEqual(d);
      });

      it('let exactly one of 50 concurrent creations win', async () => {
        const base = aRecord();
        const rivals = Array.from({ length: 50 }, () => next(base));
        const outcomes = await Promise.allSettled(rivals.map((rival) => store.commit([creation(rival)])));
        expectOneWinner(outcomes);
        const winner = rivals[outcomes.findIndex(({ status }) => status === 'fulfilled')];
        expect(await read(base)).toStrictEqual(winner);
      });

      it('let exactly one of 50 concurrent replacements of one revision win', async () => {
        const base = aRecord();
        await put(base);
        const rivals = Array.from({ length: 50 }, () => ({ head: next(base), own: aRecord() }));
        const outcomes = await Promise.allSettled(
          rivals.map(({ head, own }) => store.commit([creation(own), change(base, head)])),
        );
        expectOneWinner(outcomes);
        const own = await Promise.all(rivals.map((rival) => read(rival.own)));
        expect(own.map((record) => record !== undefined)).toStrictEqual(
          outcomes.map(({ status }) => status === 'fulfilled'),
        );
      });
    });

    describe('ranges', () => {
      it('return records in the byte order of their keys', async () => {
        const partition = aPartition();
        const keys = [
          '!',
          '0',
          '10',
          '9',
          'A',
          'Z',
          '_',
          'a',
          'a!',
          'a0',
          'aa',
          'b',
          'c0000000010',
          'c0000000009',
          'cz',
          '~',
        ];
        await put(...keys.map((key) => aRecord({ partition, key })));
        const sorted = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
        expect(keysOf((await rangeAll(partition)).records)).toStrictEqual(sorted);
        expect(keysOf((await rangeAll(partition, { newestFirst: true })).records)).toStrictEqual(sorted.toReversed());
      });

      it('include both bounds', async () => {
        const partition = aPartition();
        await put(...['a', 'b', 'b0', 'c', 'd'].map((key) => aRecord({ partition, key })));
        const keys = async (options: PageOptions) => keysOf((await rangeAll(partition, options)).records).join(' ');
        expect(await keys({ from: 'b' })).toBe('b b0 c d');
        expect(await keys({ to: 'b' })).toBe('a b');
        expect(await keys({ from: 'b', to: 'c' })).toBe('b b0 c');
        expect(await keys({ from: 'b', to: 'c', newestFirst: true })).toBe('c b0 b');
        expect(await keys({ from: 'aa', to: 'bz' })).toBe('b b0');
        expect(await keys({ from: 'aa', to: 'bz', newestFirst: true })).toBe('b0 b');
        expect(await keys({ from: 'b1', to: 'bz' })).toBe('');
        expect(await keys({ from: 'b', to: 'b' })).toBe('b');
      });

      it('return at most the limit, and the rest after the cursor', async () => {
        const partition = aPartition();
        await put(...['a', 'b', 'c', 'd', 'e', 'f'].map((key) => aRecord({ partition, key })));
        for (const newestFirst of [false, true]) {
          const options = { from: 'b', to: 'f', limit: 2, newestFirst };
          const first = await store.range(partition, options);
          expect(keysOf(first.records)).toStrictEqual(newestFirst ? ['f', 'e'] : ['b', 'c']);
          const { records, pages } = await rangeAll(partition, options);
          expect(keysOf(records).toSorted()).toStrictEqual(['b', 'c', 'd', 'e', 'f']);
          expect(pages).toBeGreaterThanOrEqual(3);
        }
      });

      it('return every record once over pages of many megabytes', async () => {
        const partition = aPartition();
        const records = Array.from({ length: 24 }, (_, i) =>
          aRecord({ partition, key: `k${100 + i}`, body: bytes(300 * 1024) }),
        );
        for (const record of records) await put(record);
        for (const newestFirst of [false, true]) {
          const all = await rangeAll(partition, { newestFirst });
          expect(all.pages).toBeGreaterThan(1);
          expect(keysOf(all.records)).toStrictEqual(keysOf(newestFirst ? records.toReversed() : records));
          const same = all.records.every(({ key, body }) => sameBytes(body, records.find((r) => r.key === key)?.body));
          expect(same).toBe(true);
        }
      });

      it('continue after a record that was removed since', async () => {
        const partition = aPartition();
        const records = ['a', 'b', 'c', 'd'].map((key) => aRecord({ partition, key }));
        await put(...records);
        const first = await store.range(partition, { limit: 2 });
        await store.commit(records.slice(1, 2).map(removal));
        expect(first.next).toBeTypeOf('string');
        const rest = await store.range(partition, { after: first.next ?? '' });
        expect(keysOf(rest.records)).toStrictEqual(['c', 'd']);
      });
    });

    describe('lists', () => {
      const listedRecord = (list: ListName, group: string, order: string, key = `${order}-${unique()}`): StoredRecord =>
        aRecord({ key, body: bytes(50), lists: { [list]: { group, order } } });

      it.each(['status', 'owner', 'due'] as const)(
        'return the records of a group of the list %s in order, without their bodies',
        async (list) => {
          const group = unique();
          const records = ['3', '1', '20', '2'].map((order) => listedRecord(list, group, order));
          await put(...records, listedRecord(list, `${group}0`, '1'), listedRecord(list, `${group}/1`, '1'));
          const short = records
            .toSorted(byKey)
            .map(({ partition, key, revision, meta }) => ({ partition, key, revision, meta }));
          await eventually(async () => {
            expect((await listAll(list, group)).records).toStrictEqual(short);
            expect((await listAll(list, group, { newestFirst: true })).records).toStrictEqual(short.toReversed());
          });
        },
      );

      it('contain only records with a list entry', async () => {
        const group = unique();
        const record = listedRecord('owner', group, '1');
        await put(record, aRecord({ partition: record.partition }), listedRecord('status', group, '1', 'in status'));
        await eventually(async () => {
          expect(await listed('owner', group)).toStrictEqual([record.key]);
          expect(await listed('status', group)).toStrictEqual(['in status']);
          expect(await listed('due', group)).toStrictEqual([]);
        });
      });

      it('include both bounds of orders', async () => {
        const group = unique();
        await put(
          ...['a', 'b', 'b', 'b0', 'c', 'd'].map((order, i) => listedRecord('due', group, order, `${order}.${i}`)),
        );
        const orders = async (options: PageOptions) =>
          (await listed('due', group, options)).map((key) => key.split('.')[0]).join(' ');
        await eventually(async () => expect(await orders({})).toBe('a b b b0 c d'));
        expect(await orders({ from: 'b', to: 'b' })).toBe('b b');
        expect(await orders({ from: 'b' })).toBe('b b b0 c d');
        expect(await orders({ to: 'b' })).toBe('a b b');
        expect(await orders({ to: 'b', newestFirst: true })).toBe('b b a');
        expect(await orders({ from: 'aa', to: 'bz', newestFirst: true })).toBe('b0 b b');
        expect(await orders({ from: 'e' })).toBe('');
      });

      it('return records with the same order once each, even across pages', async () => {
        const group = unique();
        const partition = aPartition();
        const tied = [1, 2, 3, 4].map((i) => ({ ...listedRecord('status', group, 'same', `k${i}`), partition }));
        const others = [1, 2, 3].map((i) => listedRecord('status', group, 'same', `other${i}`));
        await put(
          listedRecord('status', group, 'before', '0'),
          ...tied,
          ...others,
          listedRecord('status', group, 'zz', 'z'),
        );
        const keys = ['0', ...keysOf(tied), ...keysOf(others), 'z'].toSorted();
        await eventually(async () => expect((await listed('status', group)).toSorted()).toStrictEqual(keys));
        for (const newestFirst of [false, true]) {
          for (const limit of [1, 2, 3]) {
            const paged = await listed('status', group, { limit, newestFirst });
            expect(paged.toSorted()).toStrictEqual(keys);
            expect([paged[0], paged.at(-1)]).toStrictEqual(newestFirst ? ['z', '0'] : ['0', 'z']);
          }
        }
      });

      it('return at most the limit', async () => {
        const group = unique();
        await put(...['1', '2', '3'].map((order) => listedRecord('owner', group, order, order)));
        await eventually(async () => expect(await listed('owner', group)).toHaveLength(3));
        expect(keysOf((await store.list('owner', group, { limit: 2 })).records)).toStrictEqual(['1', '2']);
        expect(keysOf((await store.list('owner', group, { limit: 2, newestFirst: true })).records)).toStrictEqual([
          '3',
          '2',
        ]);
      });

      it('follow a record that moves to another group and order', async () => {
        const [from, to] = [unique(), unique()];
        const record = listedRecord('status', from, '5', 'moving');
        await put(record, listedRecord('status', to, '7', 'there'));
        const moved = { ...next(record), meta: 'moved', lists: { status: { group: to, order: '9' } } };
        await store.commit([change(record, moved)]);
        await eventually(async () => {
          expect(await listed('status', from)).toStrictEqual([]);
          const { records } = await listAll('status', to);
          expect(records.map(({ meta }) => meta)).toStrictEqual(['m', 'moved']);
          expect(records[1]?.revision).toBe(moved.revision);
        });
        const again = { ...next(moved), lists: { status: { group: to, order: '1' } } };
        await store.commit([change(moved, again)]);
        await eventually(async () => expect(await listed('status', to)).toStrictEqual(['moving', 'there']));
      });

      it('lose a record that is replaced without list entries, or removed', async () => {
        const group = unique();
        const [replaced, removed, unchanged] = ['1', '2', '3'].map((order) => listedRecord('due', group, order, order));
        if (!replaced || !removed || !unchanged) throw new Error('three records were made');
        await put(replaced, removed, unchanged);
        const { lists: _, ...outside } = next(replaced);
        await store.commit([change(replaced, outside), removal(removed)]);
        await eventually(async () => expect(await listed('due', group)).toStrictEqual(['3']));
      });

      it('do not change when a commit fails', async () => {
        const [group, other] = [unique(), unique()];
        const record = listedRecord('owner', group, '1', 'k');
        await put(record);
        await failureOf([
          change(record, { ...next(record), lists: { owner: { group: other, order: '1' } } }),
          creation({ ...record, key: 'never' }),
          removal(aRecord()),
        ]);
        await eventually(async () => expect(await listed('owner', group)).toStrictEqual(['k']));
        expect(await listed('owner', other)).toStrictEqual([]);
      });
    });
  });
}

const unique = (): string => randomUUID();
const aPartition = (): string => `contract/${unique()}`;
const bytes = (length: number): Uint8Array => new Uint8Array(randomBytes(length));

const aRecord = (some: Partial<StoredRecord> = {}): StoredRecord => ({
  partition: aPartition(),
  key: 'k',
  revision: unique(),
  meta: 'm',
  ...some,
});

const next = (record: StoredRecord, key = record.key): StoredRecord => ({ ...record, key, revision: unique() });
const creation = (record: StoredRecord): Write => ({ put: record, when: 'absent' });
const change = ({ revision }: StoredRecord, to: StoredRecord): Write => ({ put: to, when: { revision } });
const removal = ({ partition, key, revision }: StoredRecord): Write => ({
  remove: { partition, key },
  when: { revision },
});

const contentOf = (record: StoredRecord | undefined) =>
  record && {
    partition: record.partition,
    key: record.key,
    revision: record.revision,
    meta: record.meta,
    body: record.body,
  };

const byKey = (a: RecordKey, b: RecordKey): number => (a.key < b.key ? -1 : 1);

const sameBytes = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;

function expectOneWinner(outcomes: readonly PromiseSettledResult<void>[]): void {
  const losers = outcomes.filter((outcome) => outcome.status === 'rejected');
  expect(losers).toHaveLength(outcomes.length - 1);
  for (const { reason } of losers) expect(reason).toBeInstanceOf(ConditionFailedError);
}
