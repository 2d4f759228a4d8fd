import { describe, expect, test } from 'vitest';
import { type Payload, payload } from '../../../lambda/checkpoints/payload.ts';
import { randomText } from './random-text.ts';
import { recordCalls } from './record-calls.ts';
import { shape } from './shape.ts';
import { all, MINUTE, type OpenStores, type Stores } from './stores.ts';

export function pruningContract(open: OpenStores): void {
  /** Creates a run of `count` checkpoints, each a snapshot with its version. */
  async function snapshots(stores: Stores, count: number, fieldsOf: (version: number) => object = () => ({})) {
    const { store, run } = stores;
    for (let version = 1; version <= count; version++) {
      const state = { version };
      await store(shape(version)).save({ run, expectedVersion: version - 1, state, ...fieldsOf(version) });
    }
    expect((await stores.stored().metas()).every(({ anchor }) => anchor === undefined)).toBe(true);
    return stores;
  }

  describe('a prune', () => {
    test('empties all but the newest checkpoints, and keeps their entries in the history', async () => {
      const { store, run } = await snapshots(open(), 6, (version) => ({ step: `step ${version}`, labels: { l: 'x' } }));
      const before = await all(store().history(run));
      expect(await store().prune(run, { keepLast: 2 })).toEqual({
        emptied: 4,
        kept: 2,
        payloadsRemoved: 0,
        version: 7,
      });
      for (const version of [1, 2, 3, 4]) {
        await expect(store().load(run, version)).rejects.toMatchObject({ code: 'CHECKPOINT_PRUNED' });
        expect(await store().find(run, version)).toBeUndefined();
      }
      for (const version of [5, 6]) expect((await store().load(run, version)).state).toStrictEqual({ version });
      const history = await all(store().history(run));
      expect(history.map(({ pruned }) => pruned)).toEqual([true, true, true, true, false, false, false]);
      for (const [index, { hash, savedAt, step, version, writer, schema }] of before.entries()) {
        expect(history[index]).toMatchObject({ hash, savedAt, step, version, writer, schema });
      }
      expect(await store().verify(run)).toMatchObject({ ok: true, problems: [], checkpoints: 7, verifiedFrom: 5 });
    });

    test('leaves none of the content of emptied checkpoints', async () => {
      const mark = 'a mark that must not stay';
      const { store, run, stored } = await snapshots(open(), 2, (version) =>
        version === 1 ? { toolResults: { mark }, model: { mark }, labels: { mark } } : { forgetToolResults: true },
      );
      await store().prune(run, { keepLast: 1 });
      const records = await stored().records();
      expect(JSON.stringify(records.map(({ meta, body }) => [meta, Buffer.from(body ?? []).toString()]))).not.toContain(
        mark,
      );
      expect((await stored().record(1)).body).toBeUndefined();
    });

    test('is itself a checkpoint that shows the newest content', async () => {
      const { store, run } = await snapshots(open(), 3, (version) => ({
        toolResults: { [version]: version },
        ...(version === 3 && { status: 'SLEEPING', step: 'wait', model: { id: 'm' } }),
      }));
      const before = await store().load(run);
      await store().prune(run, { keepLast: 1 });
      const newest = await store().load(run);
      expect(newest).toMatchObject({ version: 4, kind: 'prune', status: 'SLEEPING', step: 'wait', model: { id: 'm' } });
      expect(newest.state).toStrictEqual(before.state);
      expect(newest.toolResults).toStrictEqual({ 1: 1, 2: 2, 3: 3 });
    });

    test('keeps the chains that kept checkpoints need', async () => {
      const { store, run } = open();
      const text = randomText(1, 3000);
      const first = store<{ text: string; n: number }>(shape(1));
      for (let n = 1; n <= 5; n++) await first.save({ run, state: { text, n } });
      expect(await store().prune(run, { keepLast: 1 })).toEqual({
        emptied: 0,
        kept: 5,
        payloadsRemoved: 0,
        version: 5,
      });
      const second = store<{ text: string; n: number }>(shape(2));
      await second.load(run);
      for (let n = 6; n <= 7; n++) await second.save({ run, state: { text, n } });
      expect(await store().prune(run, { keepLast: 1 })).toMatchObject({ emptied: 5, kept: 2 });
      for (const version of [6, 7]) expect((await store().load(run, version)).state).toEqual({ text, n: version });
    });

    test('leaves every kept state of a long run loadable, and no unused payload', async () => {
      const { store, run, stored } = open();
      const saver = store<{ texts: string[] }>();
      const texts: string[] = [];
      for (let n = 1; n <= 30; n++) {
        texts.push(n % 3 === 0 ? randomText(n, 40_000) : `small ${n}`);
        await saver.save({ run, state: { texts }, ...(n === 7 && { name: 'seventh' }) });
      }
      const payloadsBefore = await stored().payloads();
      const result = await saver.prune(run, { keepLast: 3 });
      expect(result.emptied).toBeGreaterThan(0);
      expect(result.payloadsRemoved).toBeGreaterThan(0);
      const history = await all(store().history(run));
      const loadable = history.filter(({ pruned }) => !pruned).map(({ version }) => version);
      expect(loadable).toEqual(expect.arrayContaining([7, 28, 29, 30, 31]));
      expect(loadable).toHaveLength(result.kept + 1);
      for (const version of loadable) {
        const { state } = await store<{ texts: string[] }>().load(run, version);
        expect(state.texts).toEqual(texts.slice(0, Math.min(version, 30)));
      }
      expect(await store().load(run, { name: 'seventh' })).toMatchObject({ version: 7 });
      const needed = new Set((await stored().metas()).flatMap(({ segments = [] }) => segments.map(([id]) => id)));
      expect((await stored().payloads()).map(({ id }) => id).toSorted()).toEqual([...needed].toSorted());
      expect(payloadsBefore.length - needed.size).toBe(result.payloadsRemoved);
      expect((await store().verify(run)).ok).toBe(true);
    });

    test('keeps named checkpoints by default, and otherwise frees their names', async () => {
      const { store, run } = await snapshots(open(), 4, (version) => (version === 2 ? { name: 'good' } : {}));
      await store().prune(run, { keepLast: 1 });
      expect((await store().load(run, { name: 'good' })).state).toStrictEqual({ version: 2 });
      const taken = store(shape(5)).save({ run, expectedVersion: 5, state: 1, name: 'good' });
      await expect(taken).rejects.toMatchObject({ code: 'NAME_TAKEN' });
      await store().prune(run, { keepLast: 1, keepNamed: false });
      await expect(store().load(run, 2)).rejects.toMatchObject({ code: 'CHECKPOINT_PRUNED' });
      await store(shape(5)).save({ run, expectedVersion: 6, state: 'new', name: 'good' });
      expect((await store().load(run, { name: 'good' })).state).toBe('new');
    });

    test('says of a name whose checkpoint it emptied that the checkpoint is pruned', async () => {
      const { store, run } = open();
      const saver = store(shape(1));
      // Patches, so that the named checkpoint needs others, which are emptied too.
      const texts = Array.from({ length: 50 }, (_, i) => randomText(i, 40));
      for (let n = 1; n <= 6; n++) await saver.save({ run, state: [...texts, n], ...(n === 6 && { name: 'good' }) });
      await store(shape(2)).save({ run, expectedVersion: 6, state: 'a snapshot' });
      await store().prune(run, { keepLast: 1, keepNamed: false });
      const pruned = { code: 'CHECKPOINT_PRUNED', message: expect.stringMatching(/\b6\b/) };
      const by = { name: 'good' };
      await expect(store().load(run, by)).rejects.toMatchObject(pruned);
      expect(await store().find(run, by)).toBeUndefined();
      await expect(store().fork(run, by)).rejects.toMatchObject(pruned);
      await expect(store().rewind(run, by)).rejects.toMatchObject(pruned);
      await expect(store().load(run, { name: 'never' })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
      expect((await store().verify(run)).ok).toBe(true);
      await store().prune(run, { keepLast: 1, keepNamed: false });
      await expect(store().load(run, by)).rejects.toMatchObject(pruned);
    });

    test('writes nothing when there is nothing to do, no matter how often it runs', async () => {
      const { store, run } = await snapshots(open(), 5);
      await store().prune(run, { keepLast: 3 });
      const history = await all(store().history(run));
      for (const keepLast of [3, 3, 4, 100]) {
        expect(await store().prune(run, { keepLast })).toMatchObject({ emptied: 0, payloadsRemoved: 0, version: 6 });
      }
      expect(await all(store().history(run))).toStrictEqual(history);
      await store(shape(6)).save({ run, expectedVersion: 6, state: { version: 7 } });
      expect(await store().prune(run, { keepLast: 100 })).toMatchObject({ emptied: 0, version: 7 });
    });

    test('returns the version that the next save follows', async () => {
      const { store, run } = await snapshots(open(), 3);
      const { version } = await store().prune(run, { keepLast: 1 });
      expect(await store(shape(4)).save({ run, expectedVersion: version, state: 5 })).toMatchObject({ version: 5 });
      const again = await store().prune(run, { keepLast: 10 });
      expect(await store(shape(4)).save({ run, expectedVersion: again.version, state: 6 })).toMatchObject({
        version: 6,
      });
    });

    test('fences every other writer, no matter which version it has', async () => {
      const { store, run, clock } = open();
      const holders = [];
      for (let version = 1; version <= 4; version++) {
        await store(shape(version)).save({ run, expectedVersion: version - 1, state: { version } });
        const holder = store(shape(4));
        await holder.load(run);
        holders.push(holder);
      }
      expect(await store().prune(run, { keepLast: 1 })).toMatchObject({ emptied: 3 });
      for (const later of [0, 10 * MINUTE]) {
        clock.forward(later);
        for (const [index, holder] of holders.entries()) {
          const expectedVersion = index + 1;
          await expect(holder.save({ run, state: 'late', expectedVersion })).rejects.toMatchObject({
            code: 'STALE_VERSION',
            expectedVersion,
          });
        }
      }
      expect(await store().load(run)).toMatchObject({ version: 5, kind: 'prune', state: { version: 4 } });
    });

    test('removes the payloads of emptied checkpoints, and none that are in use', async () => {
      const { store, run, stored } = open();
      const page = (name: string) => payload(`page ${name}`);
      const [always, early, middle] = [page('always'), page('early'), page('middle')];
      const states = [[always, early], [always, middle], [always, middle], [always], [always, page('last')]];
      for (const [index, pages] of states.entries()) {
        await store(shape(index + 1)).save({ run, expectedVersion: index, state: { pages } });
      }
      const texts = async (version: number) => {
        const { state } = await store<{ pages: Payload[] }>().load(run, version);
        return Promise.all(state.pages.map((found) => found.text()));
      };
      // Each run of a store has placed its own copies; what counts is what is left.
      expect(await store().prune(run, { keepLast: 3 })).toMatchObject({ emptied: 2, kept: 3 });
      expect(await texts(3)).toEqual(['page always', 'page middle']);
      expect(await texts(5)).toEqual(['page always', 'page last']);
      await expect(store().load(run, 2)).rejects.toMatchObject({ code: 'CHECKPOINT_PRUNED' });
      expect(await stored().payloads()).toHaveLength(3);
      expect(await store().prune(run, { keepLast: 2 })).toMatchObject({ emptied: 1, payloadsRemoved: 1 });
      expect(await texts(5)).toEqual(['page always', 'page last']);
      expect(await texts(6)).toEqual(['page always', 'page last']);
      expect(await stored().payloads()).toHaveLength(2);
    });

    test('does not remove a payload that a concurrent writer uses again', async () => {
      const { store, run } = open();
      const page = payload('restored');
      await store(shape(1)).save({ run, state: { page } });
      await store(shape(2)).save({ run, expectedVersion: 1, state: {} });
      const saver = store(shape(3));
      await saver.load(run);
      await saver.save({ run, state: {} });
      await saver.prune(run, { keepLast: 1 });
      await saver.load(run);
      await saver.save({ run, state: { page } });
      const { state } = await store<{ page: Payload }>().load(run);
      expect(await state.page.text()).toBe('restored');
      expect((await store().verify(run)).ok).toBe(true);
    });

    test('works with concurrent writers without losing their work', async () => {
      const { store, run } = open();
      await store().save({ run, state: { filler: '', count: 0 } });
      const updates = Array.from({ length: 20 }, (_, n) =>
        store<{ filler: string; count: number }>().update(run, (draft) => {
          draft.filler = randomText(n, 10_000 + 1000 * n);
          draft.count += 1;
        }),
      );
      const prunes = Array.from({ length: 5 }, () => store().prune(run, { keepLast: 2 }));
      await Promise.all([...updates, ...prunes]);
      const history = await all(store().history(run));
      expect(history.map(({ version }) => version)).toEqual(history.map((_, i) => i + 1));
      expect(await store().load(run)).toMatchObject({ state: { count: 20 } });
      expect(await store().verify(run)).toMatchObject({ ok: true, problems: [] });
    });

    test('is finished by the next prune when its process died after the first write', async () => {
      const { store, run, storage, stored } = await snapshots(open(), 4);
      let writes = 0;
      const dying = recordCalls(storage, {
        beforeCommit: () => {
          if (++writes > 2) throw new Error('killed');
        },
      });
      await expect(store({}, dying).prune(run, { keepLast: 1 })).rejects.toThrow('killed');
      expect((await store().verify(run)).ok).toBe(true);
      await store().prune(run, { keepLast: 1 });
      const emptied = (await stored().metas()).map((meta) => meta.emptied === 'pruned');
      expect(emptied.slice(0, 4)).toEqual([true, true, true, false]);
      expect((await store().load(run)).state).toStrictEqual({ version: 4 });
      expect((await store().verify(run)).ok).toBe(true);
    });

    test.each([0, -1, 1.5, Number.NaN, '3', undefined])('rejects %o as `keepLast`', async (keepLast) => {
      const { store, run } = open();
      await store().save({ run });
      await expect(store().prune(run, { keepLast: keepLast as number })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      });
    });

    test('is rejected for a run that does not exist', async () => {
      const { store, run } = open();
      await expect(store().prune(run, { keepLast: 1 })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    });
  });
}
