import { describe, expect, test } from 'vitest';
import type { CheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import { payload } from '../../../lambda/checkpoints/payload.ts';
import { eventually } from '../eventually.ts';
import { randomText } from './random-text.ts';
import { all, DAY, MINUTE, type OpenStores } from './stores.ts';

export function deletingContract(open: OpenStores): void {
  describe('a deleted run', () => {
    const MARK = 'a mark that must not stay';

    async function startedRun(stores: ReturnType<OpenStores>) {
      const { store, run } = stores;
      const saver = store();
      await saver.save({ run, state: { MARK }, step: MARK, labels: { MARK }, owner: MARK, name: 'first' });
      await saver.save({ run, state: { MARK, page: payload(MARK) }, toolResults: { MARK } });
      await saver.save({ run, state: { text: randomText(1, 100_000) } });
      return { ...stores, saver };
    }

    test('is rejected by every operation', async () => {
      const { saver, store, run } = await startedRun(open());
      await saver.delete(run);
      for (const used of [saver, store()]) {
        const uses: Promise<unknown>[] = [
          used.load(run),
          used.load(run, 1),
          used.load(run, { name: 'first' }),
          used.describe(run),
          all(used.history(run)),
          used.diff(run, 1, 2),
          used.update(run, () => 'again'),
          used.save({ run, state: 'again' }),
          used.save({ run, state: 'again', expectedVersion: 0 }),
          used.save({ run, state: 'again', expectedVersion: 3 }),
          used.save({ run, state: 'again', expectedVersion: 4 }),
          used.fork(run),
          used.fork(run, { version: 1 }),
          used.rewind(run, 1),
          used.undo(run),
          used.redo(run),
          used.prune(run, { keepLast: 1 }),
          used.verify(run),
        ];
        for (const use of await Promise.allSettled(uses)) {
          expect(use).toMatchObject({ status: 'rejected', reason: { code: 'RUN_DELETED', scope: 'run' } });
        }
        expect(await used.find(run)).toBeUndefined();
      }
    });

    test('leaves none of its content', async () => {
      const { saver, run, stored } = await startedRun(open());
      await saver.delete(run);
      expect(await stored().payloads()).toEqual([]);
      const records = await stored().records();
      expect(records.every(({ body }) => body === undefined)).toBe(true);
      expect(records.map(({ key }) => key)).toEqual(['c0000000001', 'c0000000002', 'c0000000003', 'c0000000004', 'cz']);
      expect(JSON.stringify(records)).not.toContain(MARK);
    });

    test('stays deleted for late writers, no matter which version they have and what they write', async () => {
      const { store, run, stored, clock } = open();
      const saver = store();
      const writes: ((late: CheckpointStore, expectedVersion: number) => Promise<unknown>)[] = [
        (late) => late.save({ run, state: 'late' }),
        (late, expectedVersion) => late.save({ run, expectedVersion, state: 'late' }),
        (late, expectedVersion) => late.save({ run, expectedVersion, status: 'SUCCEEDED', owner: 'late' }),
        (late, expectedVersion) => late.save({ run, expectedVersion, name: 'late' }),
        (late) => late.update(run, () => 'late'),
      ];
      const holders: { version: number; late: CheckpointStore; write: (typeof writes)[number] }[] = [];
      for (let version = 1; version <= 4; version++) {
        await saver.save({ run, state: version });
        for (const write of writes) {
          const late = store();
          await late.load(run);
          holders.push({ version, late, write });
        }
      }
      await store().delete(run);
      const left = await stored().records();
      for (const later of [0, 10 * MINUTE]) {
        clock.forward(later);
        for (const { version, late, write } of holders) {
          await expect(write(late, version)).rejects.toMatchObject({ code: 'RUN_DELETED' });
        }
      }
      expect(await stored().records()).toStrictEqual(left);
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_DELETED' });
    });

    test('reserves its id until it is swept a day later', async () => {
      const { saver, store, run, clock, stored } = await startedRun(open());
      await saver.delete(run);
      await saver.save({ run: `${run} 2`, state: 'source' });
      for (const later of [0, DAY - MINUTE, MINUTE]) {
        clock.forward(later);
        await expect(store().save({ run, state: 'new' })).rejects.toMatchObject({ code: 'RUN_DELETED' });
        await expect(store().fork(`${run} 2`, { id: run })).rejects.toMatchObject({ code: 'RUN_DELETED' });
        if (later !== MINUTE) expect(await store().sweep()).toEqual({ expired: 0, freed: 0, failed: [] });
      }
      await eventually(async () => expect(await store().sweep()).toEqual({ expired: 0, freed: 1, failed: [] }));
      expect(await stored().records()).toEqual([]);
      expect(await store().find(run)).toBeUndefined();
      expect(await store().save({ run, state: 'new' })).toMatchObject({ version: 1, state: 'new' });
    });

    test('frees its id for a new run that is not mistaken for the old one', async () => {
      const { saver, store, run, clock } = await startedRun(open());
      const idle = store();
      const old = await idle.load(run);
      await saver.delete(run);
      clock.forward(DAY);
      await eventually(async () => expect(await store().sweep()).toMatchObject({ freed: 1 }));
      const writer = store();
      for (let version = 1; version <= 4; version++) {
        await writer.save({ run, state: `new ${version}` });
        for (const late of [idle, store()]) {
          await expect(late.save({ run, expectedVersion: old, state: 'old' })).rejects.toMatchObject({
            code: 'STALE_VERSION',
          });
        }
      }
      expect(await store().load(run)).toMatchObject({ version: 4, state: 'new 4' });
      expect(await store().load(run, 2)).toMatchObject({ state: 'new 2' });
      expect(await idle.load(run)).toMatchObject({ version: 4, state: 'new 4' });
      expect(await idle.save({ run, state: 'new 5' })).toMatchObject({ version: 5 });
      expect((await store().verify(run)).ok).toBe(true);
    });

    test.each<[string, (stores: ReturnType<OpenStores>) => Promise<void>]>([
      ['the newest checkpoint is not readable', ({ stored }) => stored().alter(3, () => ({ meta: 'rubbish' }))],
      ['a checkpoint in the middle is gone', ({ stored }) => stored().remove(2)],
      ['the head is not readable', ({ stored }) => stored().alter('cz', () => ({ meta: '1{}' }))],
      ['a name is not readable', ({ stored }) => stored().alter('nfirst', () => ({ meta: '1{' }))],
      [
        'a newer Waitstate wrote the newest checkpoint',
        ({ stored }) => stored().alter(3, () => ({ meta: '7 new format' })),
      ],
      [
        'all checkpoints are gone',
        async ({ stored }) => {
          for (const version of [1, 2, 3]) await stored().remove(version);
        },
      ],
    ])('leaves no content even if it was damaged before and %s', async (_, damage) => {
      const stores = await startedRun(open());
      const { store, run, stored, clock } = stores;
      await damage(stores);
      await store().delete(run);
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_DELETED' });
      expect(await stored().payloads()).toEqual([]);
      expect(JSON.stringify(await stored().records())).not.toContain(MARK);
      clock.forward(DAY);
      await eventually(async () => expect(await store().sweep()).toMatchObject({ freed: 1, failed: [] }));
      expect(await stored().records()).toEqual([]);
    });

    test('is not restored by a writer with cached content', async () => {
      const { store, run, stored } = open();
      const saver = store();
      for (const state of [1, 2, 3]) await saver.save({ run, state });
      const writers = [store(), store()];
      for (const late of writers) await late.load(run);
      await stored().remove(3);
      await store().delete(run);
      await expect(writers[0]?.save({ run, status: 'SUCCEEDED' })).rejects.toMatchObject({ code: 'RUN_DELETED' });
      await writers[1]?.save({ run, state: 'late' }).catch(() => {});
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_DELETED' });
    });

    test('can be deleted again, even concurrently', async () => {
      const { saver, store, run, stored } = await startedRun(open());
      await Promise.all([saver.delete(run), store().delete(run), store().delete(run)]);
      await store().delete(run);
      expect(await stored().payloads()).toEqual([]);
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_DELETED' });
    });

    test('is reported as missing if it never existed', async () => {
      const { store, run, stored } = open();
      await expect(store().delete(run)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
      expect(await stored().records()).toEqual([]);
    });

    test('removes nothing of other runs, no matter how similar their ids', async () => {
      const { store, run } = open();
      const saver = store();
      const others = [`${run}/`, `${run}/a`, `${run}a`, `${run}%2F`, run.slice(0, -1), run.toUpperCase()];
      for (const id of [run, ...others])
        await saver.save({ run: id, state: { page: payload(`page of ${id}`) }, name: 'n' });
      await saver.delete(run);
      for (const id of others) {
        const { state } = await store<{ page: ReturnType<typeof payload> }>().load(id, { name: 'n' });
        expect(await state.page.text()).toBe(`page of ${id}`);
      }
    });

    test('stays deleted although others write to it meanwhile', async () => {
      const { store, run, stored } = open();
      await store().save({ run, state: 0 });
      const writers = Array.from({ length: 10 }, () => store<number>().update(run, (n) => n + 1));
      const [deleted, ...outcomes] = await Promise.allSettled([store().delete(run), ...writers]);
      expect(deleted).toMatchObject({ status: 'fulfilled' });
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'RUN_DELETED' });
      }
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_DELETED' });
      expect((await stored().records()).every(({ body }) => body === undefined)).toBe(true);
    });
  });
}
