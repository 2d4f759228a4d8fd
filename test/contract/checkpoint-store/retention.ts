import { describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { shape } from './shape.ts';
import { all, DAY, HOUR, MINUTE, type OpenStores, SECOND } from './stores.ts';

export function retentionContract(open: OpenStores): void {
  describe('the retention of a run', () => {
    test('ends after the last write, even before a sweep', async () => {
      const { store, run, clock } = open();
      const saver = store({ retention: { minutes: 1 } });
      await saver.save({ run, state: 'one', name: 'here' });
      clock.forward(MINUTE - 1);
      expect(await store().load(run)).toMatchObject({ state: 'one' });
      clock.forward(1);
      for (const used of [saver, store()]) {
        const uses: Promise<unknown>[] = [
          used.load(run),
          used.load(run, 1),
          used.load(run, { name: 'here' }),
          used.describe(run),
          all(used.history(run)),
          used.diff(run, 1, 1),
          used.update(run, () => 'again'),
          used.save({ run, expectedVersion: 1, state: 'again' }),
          used.save({ run, expectedVersion: 0, state: 'new' }),
          used.fork(run),
          used.rewind(run, 1),
          used.prune(run, { keepLast: 1 }),
          used.verify(run),
        ];
        for (const use of await Promise.allSettled(uses)) {
          expect(use).toMatchObject({ status: 'rejected', reason: { code: 'RUN_EXPIRED', scope: 'run' } });
        }
        expect(await used.find(run)).toBeUndefined();
      }
    });

    test('starts over with every write, by any store', async () => {
      const { store, run, clock } = open();
      const saver = store({ retention: { hours: 1 } });
      await saver.save({ run, state: 0 });
      for (let n = 1; n <= 8; n++) {
        clock.forward(50 * MINUTE);
        await (n % 2 === 0 ? saver : store<number>()).update(run, () => n);
        clock.forward(5 * MINUTE);
        expect(await store().load(run)).toMatchObject({ state: n });
      }
      expect(await store().load(run, 1)).toMatchObject({ state: 0 });
      clock.forward(55 * MINUTE);
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
    });

    test('counts from the last write although the head is up to an hour behind', async () => {
      const { store, run, clock, stored } = open();
      const saver = store({ retention: { hours: 2 } });
      const start = clock.now;
      await saver.save({ run, state: 'one', name: 'here' });
      clock.forward(50 * MINUTE);
      await saver.load(run);
      await saver.save({ run, state: 'two' });
      expect((await stored().head()).updatedAt).toBe(start);
      clock.now = start + 2 * HOUR + 49 * MINUTE;
      expect(await store().load(run)).toMatchObject({ state: 'two' });
      expect(await store().load(run, 1)).toMatchObject({ state: 'one' });
      expect(await store().load(run, { name: 'here' })).toMatchObject({ state: 'one' });
      expect(await store().describe(run)).toMatchObject({ run });
      expect(await all(store().history(run))).toHaveLength(2);
      expect(await store().sweep()).toEqual({ expired: 0, freed: 0, failed: [] });
      clock.forward(MINUTE);
      const uses = [store().load(run), store().load(run, 1), store().describe(run), all(store().history(run))];
      for (const use of await Promise.allSettled(uses)) {
        expect(use).toMatchObject({ status: 'rejected', reason: { code: 'RUN_EXPIRED' } });
      }
    });

    test('does not end earlier when the clock of a writer is behind', async () => {
      const { store, run, clock } = open();
      const start = clock.now;
      const saver = store({ retention: { hours: 1 } });
      await saver.save({ run, state: 'one' });
      clock.forward(50 * MINUTE);
      await saver.load(run);
      await saver.save({ run, state: 'two' });
      await store({ clock: () => start + 10 * MINUTE }).update(run, () => 'three');
      clock.now = start + 109 * MINUTE;
      expect(await store().load(run)).toMatchObject({ state: 'three' });
      clock.forward(MINUTE);
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
    });

    test('is unlimited by default', async () => {
      const { store, run, clock } = open();
      await store().save({ run, state: 'one' });
      clock.forward(10_000 * DAY);
      expect(await store().sweep()).toEqual({ expired: 0, freed: 0, failed: [] });
      expect(await store().load(run)).toMatchObject({ state: 'one' });
    });

    test('can be set and changed per run', async () => {
      const { store, run, clock } = open();
      const saver = store({ retention: { hours: 1 } });
      await saver.save({ run, state: 1, retention: { minutes: 1 } });
      expect(await saver.describe(run)).toMatchObject({ retention: { minutes: 1 } });
      await store({ retention: { seconds: 5 } }).update(run, () => 2);
      expect(await saver.describe(run)).toMatchObject({ retention: { minutes: 1 } });
      await saver.load(run);
      await saver.save({ run, retention: { minutes: 2 } });
      clock.forward(119 * SECOND);
      expect(await store().load(run)).toMatchObject({ state: 2 });
      clock.forward(SECOND);
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
    });

    test('is not renewed by a prune', async () => {
      const { store, run, clock } = open();
      for (const n of [1, 2, 3]) {
        await store({ ...shape(n), retention: { hours: 2 } }).save({ run, expectedVersion: n - 1, state: n });
      }
      clock.forward(110 * MINUTE);
      expect(await store().prune(run, { keepLast: 1 })).toMatchObject({ emptied: 2 });
      clock.forward(9 * MINUTE);
      expect(await store().load(run)).toMatchObject({ version: 4 });
      clock.forward(MINUTE);
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
      clock.forward(HOUR);
      await eventually(async () => expect(await store().sweep()).toMatchObject({ expired: 1 }));
    });

    test('does not depend on the oldest records of a long run', async () => {
      const { store, run, clock } = open();
      const saver = store({ retention: { hours: 1 } });
      for (let n = 0; n < 10; n++) {
        await saver.save({ run, state: n });
        clock.forward(55 * MINUTE);
        await store().sweep();
      }
      expect(await store().load(run, 1)).toMatchObject({ state: 0 });
      expect(await all(store().history(run))).toHaveLength(10);
    });
  });
}
