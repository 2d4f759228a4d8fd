import { describe, expect, test } from 'vitest';
import { type Payload, payload } from '../../../lambda/checkpoints/payload.ts';
import { randomText } from './random-text.ts';
import { all, MINUTE, type OpenStores } from './stores.ts';
import { watched } from './watched.ts';

/** A state that has nothing in common with those before it and is larger, so that each checkpoint is a snapshot. */
const fresh = (seed: number) => ({ seed, text: randomText(seed, 3000 + 300 * seed) });

export function pruningContract(open: OpenStores): void {
  describe('a prune', () => {
    test('empties all but the newest checkpoints; their place in history stays', async () => {
      const { store, run } = open();
      const saver = store();
      for (let n = 1; n <= 6; n++) await saver.save({ run, state: fresh(n), step: `step ${n}` });
      const before = await all(saver.history(run));
      expect(await store().prune(run, { keepLast: 2 })).toMatchObject({ emptied: 4, kept: 2 });
      for (const version of [1, 2, 3, 4]) {
        await expect(store().load(run, version)).rejects.toMatchObject({ code: 'CHECKPOINT_PRUNED' });
        expect(await store().find(run, version)).toBeUndefined();
      }
      for (const version of [5, 6]) expect((await store().load(run, version)).state).toStrictEqual(fresh(version));
      const history = await all(store().history(run));
      expect(history.map(({ pruned }) => pruned)).toEqual([true, true, true, true, false, false, false]);
      for (const [index, { hash, savedAt, step, version, writer }] of before.entries()) {
        expect(history[index]).toMatchObject({ hash, savedAt, step, version, writer });
      }
      expect(await store().verify(run)).toMatchObject({ ok: true, problems: [], provenFrom: 5 });
    });

    test('is itself a checkpoint that shows what was newest', async () => {
      const { store, run } = open();
      const saver = store();
      for (let n = 1; n <= 3; n++)
        await saver.save({ run, state: fresh(n), toolResults: { [n]: n }, status: 'RUNNING' });
      await saver.save({ run, status: 'SLEEPING' });
      await saver.prune(run, { keepLast: 2 });
      const newest = await store().load(run);
      expect(newest).toMatchObject({ version: 5, kind: 'prune', status: 'SLEEPING', state: fresh(3) });
      expect(newest.toolResults).toStrictEqual({ 1: 1, 2: 2, 3: 3 });
    });

    test('leaves what the kept ones stand on', async () => {
      const { store, run } = open();
      const saver = store<{ text: string; n: number }>();
      await saver.save({ run, state: { text: randomText(1, 3000), n: 1 } });
      for (let n = 2; n <= 5; n++) await saver.save({ run, state: { text: randomText(1, 3000), n } });
      expect(await saver.prune(run, { keepLast: 1 })).toEqual({ emptied: 0, kept: 5, payloadsRemoved: 0, version: 5 });
      expect(await all(store().history(run))).toHaveLength(5);
      await saver.save({ run, state: { text: randomText(2, 3000), n: 6 } });
      await saver.save({ run, state: { text: randomText(2, 3000), n: 7 } });
      expect(await saver.prune(run, { keepLast: 1 })).toMatchObject({ emptied: 5, kept: 2 });
      expect((await store<{ n: number }>().load(run, 6)).state.n).toBe(6);
      expect((await store<{ n: number }>().load(run)).state.n).toBe(7);
    });

    test('leaves every kept state of a long run loadable, and not one payload too many', async () => {
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
      for (const version of loadable) {
        const { state } = await store<{ texts: string[] }>().load(run, version);
        expect(state.texts).toEqual(texts.slice(0, Math.min(version, 30)));
      }
      expect(await store<{ texts: string[] }>().load(run, { name: 'seventh' })).toMatchObject({ version: 7 });
      const needed = new Set((await stored().metas()).flatMap(({ segments = [] }) => segments.map(([id]) => id)));
      expect((await stored().payloads()).map(({ id }) => id).toSorted()).toEqual([...needed].toSorted());
      expect(payloadsBefore.length - needed.size).toBe(result.payloadsRemoved);
      expect((await store().verify(run)).ok).toBe(true);
    });

    test('keeps named checkpoints unless told otherwise, and then frees their names', async () => {
      const { store, run } = open();
      const saver = store();
      for (let n = 1; n <= 4; n++) await saver.save({ run, state: fresh(n), ...(n === 2 && { name: 'good' }) });
      await saver.prune(run, { keepLast: 1 });
      expect((await store().load(run, { name: 'good' })).state).toStrictEqual(fresh(2));
      await saver.load(run);
      await expect(saver.save({ run, state: fresh(6), name: 'good' })).rejects.toMatchObject({ code: 'NAME_TAKEN' });
      await saver.prune(run, { keepLast: 1, keepNamed: false });
      await saver.load(run);
      await expect(store().load(run, { name: 'good' })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
      await expect(store().load(run, 2)).rejects.toMatchObject({ code: 'CHECKPOINT_PRUNED' });
      expect(await saver.save({ run, state: fresh(7), name: 'good' })).toMatchObject({ name: 'good' });
      expect((await store().load(run, { name: 'good' })).state).toStrictEqual(fresh(7));
    });

    test('that has nothing to do writes nothing', async () => {
      const { store, run } = open();
      const saver = store();
      for (let n = 1; n <= 4; n++) await saver.save({ run, state: fresh(n) });
      await saver.prune(run, { keepLast: 2 });
      const history = await all(store().history(run));
      expect(await store().prune(run, { keepLast: 2 })).toMatchObject({ emptied: 0, payloadsRemoved: 0 });
      expect(await saver.prune(run, { keepLast: 100 })).toMatchObject({ emptied: 0, payloadsRemoved: 0 });
      expect(await all(store().history(run))).toStrictEqual(history);
    });

    test('says which version the next save follows', async () => {
      const { store, run } = open();
      const saver = store();
      for (let n = 1; n <= 3; n++) await saver.save({ run, state: fresh(n) });
      const { version } = await saver.prune(run, { keepLast: 1 });
      expect(await saver.save({ run, expectedVersion: version, state: fresh(5) })).toMatchObject({ version: 5 });
      const again = await saver.prune(run, { keepLast: 10 });
      expect(await saver.save({ run, expectedVersion: again.version, state: fresh(6) })).toMatchObject({ version: 6 });
    });

    test('makes every other writer look again, whatever version it holds', async () => {
      const { store, run, clock } = open();
      const saver = store();
      const holders = [];
      for (let n = 1; n <= 4; n++) {
        await saver.save({ run, state: fresh(n) });
        const holder = store();
        await holder.load(run);
        holders.push(holder);
      }
      await store().prune(run, { keepLast: 1 });
      for (const later of [0, 10 * MINUTE]) {
        clock.forward(later);
        for (const [index, holder] of holders.entries()) {
          await expect(holder.save({ run, state: 'late', expectedVersion: index + 1 })).rejects.toMatchObject({
            code: 'STALE_VERSION',
            expectedVersion: index + 1,
          });
        }
      }
      const newest = await store().load(run);
      expect(newest).toMatchObject({ version: 5, kind: 'prune', state: fresh(4) });
    });

    test('removes the payloads of what it emptied, and none that is in use', async () => {
      const { store, run, stored } = open();
      const saver = store<{ filler: object; pages: Payload[] }>();
      // Each a snapshot in its own record, so that the payloads are the pages.
      const filler = (n: number) => ({ text: randomText(n, 1500 + 500 * n) });
      const page = (name: string) => payload(`page ${name}`);
      const always = page('always');
      const early = page('early');
      const middle = page('middle');
      const kept = [[always, early], [always, middle], [always, middle], [always]];
      for (const [n, pages] of kept.entries()) await saver.save({ run, state: { filler: filler(n), pages } });
      await saver.save({ run, state: { filler: filler(4), pages: [always, page('last')] } });
      expect(await stored().payloads()).toHaveLength(4);
      expect(await saver.prune(run, { keepLast: 3 })).toEqual({ emptied: 2, kept: 3, payloadsRemoved: 1, version: 6 });
      const texts = async (version: number) => {
        const { state } = await store<{ pages: Payload[] }>().load(run, version);
        return Promise.all(state.pages.map((found) => found.text()));
      };
      expect(await texts(3)).toEqual(['page always', 'page middle']);
      expect(await texts(5)).toEqual(['page always', 'page last']);
      expect(await saver.prune(run, { keepLast: 2 })).toMatchObject({ payloadsRemoved: 1 });
      expect(await texts(5)).toEqual(['page always', 'page last']);
      expect(await texts(6)).toEqual(['page always', 'page last']);
      expect(await stored().payloads()).toHaveLength(2);
    });

    test('does not take a payload from under the hands of who puts it back', async () => {
      const { store, run } = open();
      const saver = store<{ filler: object; page?: Payload }>();
      const page = payload('comes back');
      await saver.save({ run, state: { filler: fresh(1), page } });
      await saver.save({ run, state: { filler: fresh(2) } });
      await saver.save({ run, state: { filler: fresh(3) } });
      await store().prune(run, { keepLast: 1 });
      await saver.load(run);
      await saver.save({ run, state: { filler: fresh(4), page } });
      const { state } = await store<{ page: Payload }>().load(run);
      expect(await state.page.text()).toBe('comes back');
      expect((await store().verify(run)).ok).toBe(true);
    });

    test('goes together with writers: all their work is there', async () => {
      const { store, run } = open();
      await store().save({ run, state: { filler: '', count: 0 } });
      const updates = Array.from({ length: 20 }, (_, n) =>
        store<{ filler: string; count: number }>().update(run, (draft) => {
          draft.filler = randomText(n, 3000);
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

    test('that died after its first write is finished by the next one', async () => {
      const { store, run, storage, stored } = open();
      const saver = store();
      for (let n = 1; n <= 4; n++) await saver.save({ run, state: fresh(n) });
      let writes = 0;
      const dying = watched(storage, {
        beforeCommit: () => {
          if (++writes > 2) throw new Error('killed');
        },
      });
      await expect(store({}, dying).prune(run, { keepLast: 1 })).rejects.toThrow('killed');
      expect((await store().verify(run)).ok).toBe(true);
      await store().prune(run, { keepLast: 1 });
      expect((await stored().metas()).map(({ emptied }) => emptied)).toEqual([
        ...Array(3).fill('pruned'),
        ...Array(3).fill(undefined),
      ]);
      expect((await store().load(run)).state).toStrictEqual(fresh(4));
      expect((await store().verify(run)).ok).toBe(true);
    });

    test.each([0, -1, 1.5, Number.NaN, '3', undefined])('refuses to keep %j', async (keepLast) => {
      const { store, run } = open();
      await store().save({ run });
      await expect(store().prune(run, { keepLast: keepLast as number })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      });
    });

    test('of a run that does not exist is refused', async () => {
      const { store, run } = open();
      await expect(store().prune(run, { keepLast: 1 })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    });
  });
}
