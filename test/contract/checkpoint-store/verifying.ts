import { describe, expect, test } from 'vitest';
import { payload } from '../../../lambda/checkpoints/payload.ts';
import { randomText } from './random-text.ts';
import { shape } from './shape.ts';
import { flipBit, rehash, withMeta } from './stored-run.ts';
import { all, type OpenStores, type Stores } from './stores.ts';

interface State {
  n: number;
  text: string;
}

export function verifyingContract(open: OpenStores): void {
  /** Five checkpoints: a snapshot and four patches that stand on it. */
  async function chained(stores: Stores) {
    const saver = stores.store<State>();
    const text = randomText(1, 4000);
    for (let n = 1; n <= 5; n++)
      await saver.save({ run: stores.run, state: { n, text }, ...(n === 3 && { name: 'third' }) });
    expect((await stores.stored().metas()).map(({ anchor }) => anchor)).toEqual([undefined, 1, 1, 1, 1]);
    return stores;
  }

  describe('a verification', () => {
    test('finds no problem in an intact run, no matter how it was created', async () => {
      const { store, run } = open();
      const saver = store<object>();
      await saver.save({ run, state: { page: payload('page'), text: randomText(1, 100_000) }, name: 'first' });
      await saver.update(run, (draft) => void Object.assign(draft, { more: payload('more') }));
      await saver.save({ run, status: 'SLEEPING' });
      await saver.rewind(run, 1);
      await saver.undo(run);
      expect(await store().verify(run)).toEqual({
        ok: true,
        problems: [],
        checkpoints: 5,
        verifiedFrom: 1,
        payloads: expect.any(Number),
        detectsTampering: false,
      });
      const { run: id } = await saver.fork(run);
      expect(await store().verify(id)).toMatchObject({ ok: true, checkpoints: 1, verifiedFrom: 1 });
    });

    test('is rejected for a run that does not exist', async () => {
      const { store, run } = open();
      await expect(store().verify(run)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    });

    test('reads every payload that a checkpoint needs, including a replaced one', async () => {
      const { store, run, stored } = open();
      const saver = store();
      for (const name of ['one', 'two', 'three']) {
        await saver.save({ run, state: { text: randomText(1, 3000), page: payload(`page ${name}`) } });
      }
      expect(await store().verify(run)).toMatchObject({ ok: true, payloads: 3 });
      const metas = await stored().metas();
      for (const [index, { payloadsAdded = [] }] of metas.entries()) {
        const [id = ''] = payloadsAdded;
        const before = await stored().bytes(id);
        await stored().alterPayload(id, flipBit);
        const { ok, problems } = await store().verify(run);
        expect(ok).toBe(false);
        expect(problems).toEqual([{ version: index + 1, problem: expect.stringContaining(`Payload ${id}`) }]);
        await stored().alterPayload(id, () => before);
      }
      expect(await store().verify(run)).toMatchObject({ ok: true });
    });
  });

  describe('a run that was damaged in the storage', () => {
    /** The damage, the versions that can no longer be loaded, and the first of them that `verify` names. */
    test.each<[string, (stores: Stores) => Promise<void>, readonly number[], number]>([
      [
        'a body was altered',
        ({ stored }) => stored().alter(3, ({ body = new Uint8Array() }) => ({ body: flipBit(body) })),
        [3, 4, 5],
        3,
      ],
      [
        'a body was truncated',
        ({ stored }) => stored().alter(3, ({ body }) => (body ? { body: body.subarray(0, -1) } : {})),
        [3, 4, 5],
        3,
      ],
      [
        'the metadata was altered',
        ({ stored }) => stored().alter(3, (record) => withMeta(record, { stepNumber: 7 })),
        [3, 4, 5],
        3,
      ],
      [
        'the metadata was truncated',
        ({ stored }) => stored().alter(3, ({ meta }) => ({ meta: meta.slice(0, -5) })),
        [3, 4, 5],
        3,
      ],
      ['the metadata is not JSON', ({ stored }) => stored().alter(3, () => ({ meta: 'rubbish' })), [3, 4, 5], 3],
      ['the metadata is an empty object', ({ stored }) => stored().alter(3, () => ({ meta: '1{}' })), [3, 4, 5], 3],
      ['the metadata is an empty list', ({ stored }) => stored().alter(3, () => ({ meta: '1[]' })), [3, 4, 5], 3],
      [
        'the snapshot was altered',
        ({ stored }) => stored().alter(1, ({ body = new Uint8Array() }) => ({ body: flipBit(body) })),
        [1, 2, 3, 4, 5],
        1,
      ],
      ['a record in the middle was removed', ({ stored }) => stored().remove(3), [3, 4, 5], 3],
      ['the snapshot was removed', ({ stored }) => stored().remove(1), [1, 2, 3, 4, 5], 1],
      [
        'a record was replaced by one of another run',
        async ({ store, run, stored }) => {
          const saver = store<State>();
          for (let n = 1; n <= 3; n++) await saver.save({ run: `${run} 2`, state: { n, text: randomText(2, 4000) } });
          const { meta, body } = await stored(`${run} 2`).record(3);
          await stored().alter(3, () => ({ meta, ...(body && { body }) }));
        },
        [3, 4, 5],
        3,
      ],
      [
        'two records of the run were swapped together with their hashes',
        async ({ stored }) => {
          const [second, third] = [await stored().record(2), await stored().record(3)];
          await stored().replace({ ...third, key: second.key });
          await stored().replace({ ...second, key: third.key });
        },
        [2, 3, 4, 5],
        2,
      ],
      [
        'a record was altered and given a new hash',
        async ({ stored }) => {
          const record = await stored().record(3);
          await stored().alter(3, () => rehash(withMeta(record, { stepNumber: 7 })));
        },
        [4, 5],
        4,
      ],
    ])('is rejected with its id, and never loaded partially, when %s', async (_, damage, lost, named) => {
      const stores = await chained(open());
      const { store, run } = stores;
      await damage(stores);
      for (let version = 1; version <= 5; version++) {
        const load = store<State>().load(run, version);
        if (!lost.includes(version)) expect((await load).state).toEqual({ n: version, text: randomText(1, 4000) });
        else {
          await expect(load).rejects.toMatchObject({
            code: expect.stringMatching(/^(DAMAGED|CHECKPOINT_NOT_FOUND)$/),
            message: expect.stringContaining(run),
          });
        }
      }
      if (lost.includes(3)) {
        await expect(store().load(run, { name: 'third' })).rejects.toMatchObject({ code: 'DAMAGED' });
      }
      await expect(store().load(run)).rejects.toMatchObject({ code: 'DAMAGED', scope: 'run' });
      await expect(store().update(run, (draft) => draft)).rejects.toMatchObject({ code: 'DAMAGED' });
      await expect(store().save({ run, expectedVersion: 5, state: 1 })).rejects.toMatchObject({ code: 'DAMAGED' });
      const { ok, problems, verifiedFrom } = await store().verify(run);
      expect(ok).toBe(false);
      expect(problems[0]).toMatchObject({ version: named });
      expect(verifiedFrom === undefined || verifiedFrom > named).toBe(true);
    });

    test('is detected when another record replaces the newest one', async () => {
      const { store, run, stored } = await chained(open());
      const [fourth, fifth] = [await stored().record(4), await stored().record(5)];
      await stored().replace({ ...fourth, key: fifth.key });
      await expect(store().load(run)).rejects.toMatchObject({
        code: 'DAMAGED',
        message: expect.stringContaining('Checkpoint 5'),
      });
      expect((await store().verify(run)).problems[0]).toMatchObject({ version: 5 });
    });

    test('is detected when a snapshot was altered with a new hash: the next checkpoint is not linked to it', async () => {
      const { store, run, stored } = open();
      for (let n = 1; n <= 3; n++) await store(shape(n)).save({ run, expectedVersion: n - 1, state: n });
      await stored().replace(rehash(withMeta(await stored().record(2), { step: 'forged' })));
      expect(await store().verify(run)).toMatchObject({
        ok: false,
        problems: [{ version: 3, problem: expect.stringContaining('is not linked to the previous checkpoint') }],
      });
    });

    test('is detected when a segment of a large state was altered or removed', async () => {
      const { store, run, stored, storage } = open();
      const saver = store<{ texts: string[] }>();
      await saver.save({ run, state: { texts: [randomText(1, 200_000)] } });
      await saver.save({ run, state: { texts: [randomText(1, 200_000), randomText(2, 120_000)] } });
      const segments = (await stored().metas()).flatMap((meta) => meta.segments ?? []).map(([id]) => id);
      expect(segments.length).toBeGreaterThan(1);
      for (const id of new Set(segments)) {
        const before = await stored().bytes(id);
        for (const damage of [
          () => stored().alterPayload(id, flipBit),
          () => stored().alterPayload(id, (bytes) => bytes.subarray(1)),
          () => storage.payloads.remove(stored().partition, [id]),
        ]) {
          await damage();
          await expect(store().load(run)).rejects.toMatchObject({
            code: 'DAMAGED',
            message: expect.stringContaining(id),
          });
          expect((await store().verify(run)).problems[0]?.problem).toContain(id);
          await storage.payloads.put(stored().partition, id, Uint8Array.from(before));
        }
      }
      expect((await store().verify(run)).ok).toBe(true);
    });

    test('is detected when its newest checkpoints were removed but the head refers to them', async () => {
      const { store, run, stored } = open();
      const saver = store();
      for (const state of ['one', 'two']) await saver.save({ run, state });
      await saver.save({ run, status: 'SLEEPING' });
      await stored().remove(3);
      expect((await store().verify(run)).problems).toMatchObject([
        { version: 3, problem: expect.stringContaining('missing') },
      ]);
      await stored().remove(2);
      await stored().remove(1);
      await expect(store().load(run)).rejects.toMatchObject({
        code: 'DAMAGED',
        message: expect.stringContaining('no checkpoints'),
      });
    });

    test('is detected when a checkpoint was emptied without a prune', async () => {
      const { store, run, stored } = open();
      for (let n = 1; n <= 4; n++) await store(shape(n)).save({ run, expectedVersion: n - 1, state: n });
      expect(await store().prune(run, { keepLast: 2 })).toMatchObject({ emptied: 2 });
      expect((await store().verify(run)).ok).toBe(true);
      const { body: _, ...emptied } = withMeta(await stored().record(3), { emptied: 'pruned' });
      await stored().replace({ ...emptied, revision: `${emptied.revision}~` });
      expect(await store().verify(run)).toMatchObject({ ok: false, problems: [{ version: 3 }] });
    });

    test.each<[string, string | number, string]>([
      ['the head', 'cz', 'The head of run'],
      ['a name', 'nthird', 'The name "third" of run'],
      ['a checkpoint', 3, 'Checkpoint 3 of run'],
    ])('is rejected with the name of the record when %s is damaged', async (_, key, name) => {
      const { store, run, stored } = await chained(open());
      await stored().alter(key, () => ({ meta: '1 {"this is": "not ours"' }));
      await expect(store().load(run, { name: 'third' })).rejects.toMatchObject({
        code: 'DAMAGED',
        message: expect.stringContaining(name),
      });
    });
  });

  describe('a record of a newer version of Waitstate', () => {
    test.each<[string, string | number]>([
      ['the head', 'cz'],
      ['a name', 'nthird'],
      ['a checkpoint', 3],
      ['the newest checkpoint', 5],
    ])('is rejected as too new, not as damaged, when it is %s', async (_, key) => {
      const { store, run, stored } = await chained(open());
      for (const format of ['2', '9', '10']) {
        await stored().alter(key, ({ meta }) => ({ meta: format + meta.slice(1) }));
        const refused = { code: 'FORMAT_TOO_NEW', scope: 'run', message: expect.stringContaining('Update waitstate') };
        if (key === 'cz') {
          await expect(store().load(run)).rejects.toMatchObject(refused);
          await expect(store().describe(run)).rejects.toMatchObject(refused);
          await expect(store().save({ run, expectedVersion: 5, state: 1 })).rejects.toMatchObject(refused);
          await expect(store().delete(run)).rejects.toMatchObject(refused);
        } else if (typeof key === 'number') {
          await expect(store().load(run, key)).rejects.toMatchObject(refused);
          await expect(store().save({ run, expectedVersion: key - 1, state: 1 })).rejects.toThrow();
          await expect(all(store().history(run))).rejects.toMatchObject(refused);
          await expect(store().prune(run, { keepLast: 1 })).rejects.toMatchObject(refused);
        } else {
          await expect(store().load(run, { name: 'third' })).rejects.toMatchObject(refused);
        }
        await stored().alter(key, ({ meta }) => ({ meta: `1${meta.slice(format.length)}` }));
      }
      expect(await store().load(run)).toMatchObject({ version: 5 });
    });
  });
}
