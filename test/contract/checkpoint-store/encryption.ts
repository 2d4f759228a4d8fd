import { describe, expect, test } from 'vitest';
import type { CheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import { localKeys } from '../../../lambda/checkpoints/encryption/key-ring.ts';
import { type Payload, payload } from '../../../lambda/checkpoints/payload.ts';
import { eventually } from '../eventually.ts';
import { keys, keysOf } from './keys.ts';
import { randomText } from './random-text.ts';
import { recordCalls } from './record-calls.ts';
import { flipBit, rehash, withMeta } from './stored-run.ts';
import { all, DAY, type OpenStores, type Stores } from './stores.ts';

export function encryptionContract(open: OpenStores): void {
  describe('an encrypted run', () => {
    const SECRET = 'the secret of the agent';

    async function startedRun(stores: Stores) {
      const saver = stores.store<{ SECRET: string; n: number; page?: Payload; texts?: string[] }>({ keys });
      const { run } = stores;
      await saver.save({
        run,
        state: { SECRET, n: 1, page: payload(SECRET, { digest: SECRET }) },
        owner: 'ada',
        name: 'first',
      });
      await saver.save({ run, state: { SECRET, n: 2 }, toolResults: { call: SECRET }, model: { id: SECRET } });
      const texts = [randomText(1, 100_000), SECRET];
      await saver.save({
        run,
        state: {
          SECRET,
          n: 3,
          texts,
          page: payload(
            (async function* () {
              yield Buffer.from(SECRET.repeat(1000));
            })(),
          ),
        },
      });
      return { ...stores, saver };
    }

    /** Every byte that the storage has of a run. */
    async function allBytes({ stored }: Stores): Promise<Buffer> {
      const parts = (await stored().records()).flatMap(({ meta, body }) => [
        Buffer.from(meta),
        body ?? new Uint8Array(),
      ]);
      for (const { id } of await stored().payloads()) parts.push(Buffer.from(id), await stored().bytes(id));
      return Buffer.concat(parts);
    }

    test('works like any other run with the key', async () => {
      const { saver, store, run } = await startedRun(open());
      const reader = store<{ n: number; page: Payload; texts: string[] }>({ keys });
      const newest = await reader.load(run);
      expect(newest.state.n).toBe(3);
      expect(newest.state.texts).toEqual([randomText(1, 100_000), SECRET]);
      expect(await newest.state.page.text()).toBe(SECRET.repeat(1000));
      expect(await reader.load(run, 2)).toMatchObject({ toolResults: { call: SECRET }, model: { id: SECRET } });
      const first = await reader.load(run, { name: 'first' });
      expect(first.state.page).toMatchObject({ digest: SECRET, size: SECRET.length });
      expect(await first.state.page.text()).toBe(SECRET);
      expect(await reader.diff(run, 1, 2)).toMatchObject({ changed: [{ path: 'n', before: 1, after: 2 }] });
      await saver.rewind(run, 1);
      await saver.undo(run);
      await saver.prune(run, { keepLast: 2 });
      expect(await store({ keys }).verify(run)).toMatchObject({ ok: true, detectsTampering: true });
      expect(await store({ keys }).describe(run)).toMatchObject({ encrypted: true, shredded: false, owner: 'ada' });
    });

    test('stores nothing readable of state, results, model or payloads, nor their hashes', async () => {
      const stores = await startedRun(open());
      const found = await allBytes(stores);
      expect(found.includes(SECRET)).toBe(false);
      expect(found.includes(randomText(1, 100))).toBe(false);
      expect(found.includes(Buffer.from(SECRET).toString('base64'))).toBe(false);
      // The same in a run without keys shows that this test could find it.
      const plain = open();
      await plain.store().save({ run: plain.run, state: { SECRET, page: payload(SECRET) } });
      expect((await allBytes(plain)).includes(SECRET)).toBe(true);
    });

    test('has its own data key: equal runs have nothing in common in storage', async () => {
      const { store, run, stored } = open();
      const saver = store({ keys });
      for (const id of [run, `${run} 2`]) {
        await saver.save({ run: id, state: { text: randomText(1, 100_000) }, writeId: 'w' });
      }
      const segment = async (id: string) => (await stored(id).metas())[0]?.segments?.[0] ?? [];
      const [[, hash, size], [, otherHash, otherSize]] = [await segment(run), await segment(`${run} 2`)];
      expect(size).toBe(otherSize);
      expect(hash).not.toBe(otherHash);
    });

    test('is listed, described and deleted without any key', async () => {
      const stores = await startedRun(open());
      const { store, run, stored } = stores;
      await eventually(async () =>
        expect(await all(store().runs({ owner: 'ada' }))).toMatchObject([{ run, encrypted: true }]),
      );
      expect(await all(store().history(run))).toHaveLength(3);
      expect(await store().verify(run)).toMatchObject({ ok: true, payloads: undefined, detectsTampering: false });
      await store().delete(run);
      expect(await stored().payloads()).toEqual([]);
    });

    test.each<[string, Parameters<Stores['store']>[0], RegExp]>([
      ['no keys', {}, /encrypted with key "a", but this store has no keys/],
      ['a key of another name', { keys: keysOf('b', { b: 1 }) }, /wrapped by key "a", but this store has: b/],
      ['another key of the same name', { keys: keysOf('a', { a: 9 }) }, /Key "a" cannot unwrap the data key of run/],
    ])('is rejected by a store with %s, for reading and for writing', async (_, options, message) => {
      const { store, run, stored } = await startedRun(open());
      const before = await stored().records();
      const uses: ((other: CheckpointStore) => Promise<unknown>)[] = [
        (other) => other.load(run),
        (other) => other.load(run, 1),
        (other) => other.save({ run, expectedVersion: 3, state: 'x' }),
        (other) => other.update(run, () => 'x'),
        (other) => other.fork(run, { id: `${run} 2` }),
        (other) => other.rewind(run, 1),
        (other) => other.diff(run, 1, 2),
      ];
      for (const use of uses) {
        await expect(use(store(options))).rejects.toMatchObject({
          code: 'KEY_UNAVAILABLE',
          message: expect.stringMatching(message),
        });
      }
      expect(await stored().records()).toEqual(before);
      expect(await stored(`${run} 2`).records()).toEqual([]);
    });

    test('rejects a record that was moved to another version or run with matching hashes', async () => {
      const { store, run, stored } = await startedRun(open());
      const saver = store({ keys });
      for (let n = 1; n <= 3; n++) await saver.save({ run: `${run} 2`, state: { n } });
      const own = await stored().records();
      const [first, second] = own as [(typeof own)[0], (typeof own)[0]];
      const foreign = await stored(`${run} 2`).record(2);
      for (const moved of [first, foreign]) {
        const forged = rehash({ ...moved, partition: second.partition, key: second.key });
        await stored().alter(2, () => forged);
        await expect(store({ keys }).load(run, 2)).rejects.toMatchObject({ code: 'DAMAGED' });
        expect(await store({ keys }).verify(run)).toMatchObject({ ok: false });
        await stored().alter(2, () => second);
      }
      expect(await store({ keys }).verify(run)).toMatchObject({ ok: true });
    });

    test.each<[string, object]>([
      ['whose state is in a payload', { text: randomText(1, 100_000) }],
      ['that changes nothing', {}],
    ])('rejects a record %s if it was moved to another version', async (_, state) => {
      const { store, run, stored } = open();
      const saver = store<object>({ keys });
      await saver.save({ run, state });
      await saver.save({ run, state });
      await saver.save({ run, state: { other: randomText(2, 100_000) } });
      await saver.save({ run, state: { other: randomText(3, 100_000), n: 1 } });
      const newest = await stored().record(4);
      const previous = (await stored().metas())[3]?.previous ?? '';
      for (const from of [1, 2, 3]) {
        const { body: _, ...moved } = withMeta({ ...(await stored().record(from)), key: newest.key }, { previous });
        const { body } = await stored().record(from);
        for (const forged of [moved, { ...moved, ...(body && { body }) }]) {
          await stored().replace(rehash(forged));
          await expect(store({ keys }).load(run)).rejects.toMatchObject({ code: 'DAMAGED' });
        }
        await stored().replace(newest);
      }
      expect(await store({ keys }).verify(run)).toMatchObject({ ok: true });
    });

    test('rejects altered content even with new hashes', async () => {
      const { store, run, stored } = await startedRun(open());
      const record = await stored().record(2);
      const forgeries = [
        withMeta(record, { stepNumber: 5 }),
        { ...record, body: flipBit(record.body ?? new Uint8Array()) },
        { ...record, body: (record.body ?? new Uint8Array()).subarray(0, 10) },
      ];
      for (const forged of forgeries) {
        await stored().alter(2, () => rehash(forged));
        await expect(store({ keys }).load(run, 2)).rejects.toMatchObject({ code: 'DAMAGED' });
      }
    });

    test('stays readable after its keys were rotated, with the old key and then without', async () => {
      const { store, run } = await startedRun(open());
      const both = keysOf('b', { a: 1, b: 2 });
      const saver = store<{ n: number }>({ keys: both });
      const holder = store<{ n: number }>({ keys: both });
      await holder.load(run);
      expect(await saver.load(run)).toMatchObject({ state: { n: 3 } });
      await expect(store({ keys: keysOf('b', { b: 2 }) }).load(run)).rejects.toMatchObject({ code: 'KEY_UNAVAILABLE' });
      await saver.rotateKey(run);
      const onlyNew = store<{ n: number; page: Payload }>({ keys: keysOf('b', { b: 2 }) });
      expect(await onlyNew.load(run, 2)).toMatchObject({ state: { n: 2 } });
      expect(await (await onlyNew.load(run, 1)).state.page.text()).toBe(SECRET);
      // A writer that had loaded the run continues, even when the head changes.
      expect(await holder.save({ run, state: { n: 4 }, status: 'SLEEPING' })).toMatchObject({ version: 4 });
      expect(await onlyNew.load(run)).toMatchObject({ state: { n: 4 }, status: 'SLEEPING' });
      await expect(store({ keys }).load(run)).rejects.toMatchObject({ code: 'KEY_UNAVAILABLE' });
      expect((await onlyNew.verify(run)).ok).toBe(true);
    });

    test('can have its keys rotated while it is written', async () => {
      const { store, run } = await startedRun(open());
      const both = keysOf('b', { a: 1, b: 2 });
      const statuses = ['SLEEPING', 'RUNNING', 'READY', 'RUNNING'] as const;
      const write = async () => {
        const saver = store<{ n: number }>({ keys: both });
        await saver.load(run);
        for (const status of statuses) await saver.save({ run, status });
      };
      await Promise.all([write(), ...Array.from({ length: 4 }, () => store({ keys: both }).rotateKey(run))]);
      expect(await store({ keys: keysOf('b', { b: 2 }) }).load(run)).toMatchObject({ version: 7, status: 'RUNNING' });
    });

    test('belongs to its owner: its key is wrapped again for a new owner', async () => {
      const { store, run, stored } = await startedRun(open());
      const contexts: string[] = [];
      const noting = {
        ...keys,
        wrap: (...args: Parameters<typeof keys.wrap>) => {
          contexts.push(args[1].owner);
          return keys.wrap(...args);
        },
      };
      const before = (await stored().head()).key;
      const saver = store<{ n: number }>({ keys: noting });
      await saver.load(run);
      await saver.save({ run, owner: 'bob' });
      expect(contexts).toEqual(['bob']);
      expect((await stored().head()).key).not.toEqual(before);
      expect(await store({ keys }).load(run)).toMatchObject({ version: 4, state: { n: 3 } });
      await stored().alterHead({ owner: 'eve' });
      await expect(store({ keys }).load(run)).rejects.toMatchObject({ code: 'KEY_UNAVAILABLE' });
    });

    test('unwraps its key once while the store caches it', async () => {
      const { store, run } = await startedRun(open());
      let unwraps = 0;
      const counting = {
        ...keys,
        unwrap: (...args: Parameters<typeof keys.unwrap>) => {
          unwraps++;
          return keys.unwrap(...args);
        },
      };
      const reader = store<{ n: number }>({ keys: counting });
      for (const version of [1, 2, 3]) await reader.load(run, version);
      await reader.update(run, (draft) => void draft.n++);
      expect(unwraps).toBe(1);
    });

    test('is forked under a new data key, including its payloads', async () => {
      const { saver, store, run, stored, clock } = await startedRun(open());
      const { run: id } = await saver.fork(run, { version: 1, owner: 'bob' });
      const heads = [await stored().head(), await stored(id).head()];
      expect(heads[0]?.key?.ciphertext).not.toBe(heads[1]?.key?.ciphertext);
      const [copy] = await stored(id).payloads();
      const copied = await stored(id).bytes(copy?.id ?? '');
      for (const original of await stored().payloads())
        expect((await stored().bytes(original.id)).equals(copied)).toBe(false);
      await store({ keys }).shred(run);
      await store({ keys }).delete(run);
      clock.forward(DAY);
      const { state } = await store<{ page: Payload; n: number }>({ keys }).load(id);
      expect([state.n, await state.page.text()]).toEqual([1, SECRET]);
      expect(await store({ keys }).verify(id)).toMatchObject({ ok: true, detectsTampering: true });
    });

    test('starts again under a new key with the same payload when its first save failed', async () => {
      const { store, run, storage } = open();
      let failures = 1;
      const failing = recordCalls(storage, {
        beforeCommit: () => {
          if (failures-- > 0) throw new Error('the storage is away');
        },
      });
      const saver = store({ keys }, failing);
      const page = payload(SECRET);
      const streamed = payload(
        (async function* () {
          yield Buffer.from(SECRET);
        })(),
      );
      await expect(saver.save({ run, state: { page, streamed } })).rejects.toThrow('the storage is away');
      await saver.save({ run, state: { page, streamed } });
      const { state } = await store<{ page: Payload; streamed: Payload }>({ keys }).load(run);
      expect([await state.page.text(), await state.streamed.text()]).toEqual([SECRET, SECRET]);
    });

    test('recognizes a first save that is retried under its write id', async () => {
      const { store, run } = open();
      const input = { run, state: { SECRET, page: payload(SECRET) }, writeId: 'w' };
      const saved = await store({ keys }).save(input);
      const again = await store<{ page: Payload }>({ keys }).save({ ...input, state: { page: payload(SECRET) } });
      expect(again).toMatchObject({ version: 1, hash: saved.hash });
      expect(await again.state.page.text()).toBe(SECRET);
    });
  });

  describe('a store with keys', () => {
    test('rejects an unencrypted run unless `acceptUnencrypted` is set', async () => {
      const { store, run } = open();
      await store().save({ run, state: { page: payload('plain') } });
      await expect(store({ keys }).load(run)).rejects.toMatchObject({ code: 'RUN_NOT_ENCRYPTED' });
      await expect(store({ keys }).save({ run, expectedVersion: 1, state: 1 })).rejects.toMatchObject({
        code: 'RUN_NOT_ENCRYPTED',
      });
      await expect(store({ keys }).verify(run)).rejects.toMatchObject({ code: 'RUN_NOT_ENCRYPTED' });
      const accepting = store<{ page: Payload }>({ keys, acceptUnencrypted: true });
      const { state } = await accepting.load(run);
      expect(await state.page.text()).toBe('plain');
      await accepting.save({ run, state });
      expect(await accepting.describe(run)).toMatchObject({ encrypted: false });
      const fork = await accepting.fork(run);
      expect(await accepting.describe(fork.run)).toMatchObject({ encrypted: true });
      expect(await fork.state.page.text()).toBe('plain');
    });

    test('rejects a head from which the key was removed', async () => {
      const { store, run, stored } = open();
      await store({ keys }).save({ run, state: 'secret' });
      await stored().alterHead({ key: undefined });
      await expect(store({ keys }).load(run)).rejects.toMatchObject({ code: 'RUN_NOT_ENCRYPTED' });
    });

    test('rejects invalid keys when it is created', () => {
      expect(() => localKeys({ current: 'a', keys: { a: new Uint8Array(31) } })).toThrow(/must be 32 bytes/);
      expect(() => localKeys({ current: 'b', keys: { a: new Uint8Array(32) } })).toThrow(
        /current key "b" must be one of `keys`; found a/,
      );
      expect(() =>
        localKeys({ current: 'a', keys: { a: Buffer.from(new Uint8Array(32)).toString('base64') } }),
      ).not.toThrow();
    });
  });
}
