import { describe, expect, test } from 'vitest';
import { payload } from '../../../lambda/checkpoints/payload.ts';
import { eventually } from '../eventually.ts';
import { randomText } from './random-text.ts';
import { shape } from './shape.ts';
import { all, DAY, HOUR, MINUTE, type OpenStores, SECOND } from './stores.ts';
import { watched } from './watched.ts';

export function retentionContract(open: OpenStores): void {
  describe('the retention of a run', () => {
    test('is over that long after its last write, before anybody has swept', async () => {
      const { store, run, clock } = open();
      const saver = store({ retentionSeconds: 60 });
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

    test('begins anew with every write, by whichever store', async () => {
      const { store, run, clock } = open();
      const saver = store({ retentionSeconds: 3600 });
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

    test('counts from the last write though the head is up to an hour behind', async () => {
      const { store, run, clock, stored } = open();
      const saver = store({ retentionSeconds: 7200 });
      const begun = clock.now;
      await saver.save({ run, state: 'one', name: 'here' });
      clock.forward(50 * MINUTE);
      await saver.load(run);
      await saver.save({ run, state: 'two' });
      expect((await stored().head()).touchedAt).toBe(begun);
      clock.now = begun + 2 * HOUR + 49 * MINUTE;
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

    test('does not end earlier because a writer has a clock that is behind', async () => {
      const { store, run, clock } = open();
      const begun = clock.now;
      const saver = store({ retentionSeconds: 3600 });
      await saver.save({ run, state: 'one' });
      clock.forward(50 * MINUTE);
      await saver.load(run);
      await saver.save({ run, state: 'two' });
      await store({ clock: () => begun + 10 * MINUTE }).update(run, () => 'three');
      clock.now = begun + 109 * MINUTE;
      expect(await store().load(run)).toMatchObject({ state: 'three' });
      clock.forward(MINUTE);
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
    });

    test('is for ever when none is given', async () => {
      const { store, run, clock } = open();
      await store().save({ run, state: 'one' });
      clock.forward(10_000 * DAY);
      expect(await store().sweep()).toEqual({ expired: 0, freed: 0, failed: [] });
      expect(await store().load(run)).toMatchObject({ state: 'one' });
    });

    test('is that of the run where the run has its own, which may change', async () => {
      const { store, run, clock } = open();
      const saver = store({ retentionSeconds: 3600 });
      await saver.save({ run, state: 1, retentionSeconds: 60 });
      expect(await saver.describe(run)).toMatchObject({ retentionSeconds: 60 });
      await store({ retentionSeconds: 5 }).update(run, () => 2);
      expect(await saver.describe(run)).toMatchObject({ retentionSeconds: 60 });
      await saver.load(run);
      await saver.save({ run, retentionSeconds: 120 });
      clock.forward(119 * SECOND);
      expect(await store().load(run)).toMatchObject({ state: 2 });
      clock.forward(SECOND);
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
    });

    test('is not renewed by a prune', async () => {
      const { store, run, clock } = open();
      for (const n of [1, 2, 3]) {
        await store({ ...shape(n), retentionSeconds: 7200 }).save({ run, expectedVersion: n - 1, state: n });
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

    test('does not end for a long run at its oldest records', async () => {
      const { store, run, clock } = open();
      const saver = store({ retentionSeconds: 3600 });
      for (let n = 0; n < 10; n++) {
        await saver.save({ run, state: n });
        clock.forward(55 * MINUTE);
        await store().sweep();
      }
      expect(await store().load(run, 1)).toMatchObject({ state: 0 });
      expect(await all(store().history(run))).toHaveLength(10);
    });
  });

  describe('a sweep', () => {
    test('removes an expired run with its payloads, and its id a day later', async () => {
      const { store, run, clock, stored } = open();
      const saver = store({ retentionSeconds: 60 });
      await saver.save({ run, state: { page: payload('a page') }, name: 'here' });
      await saver.save({ run, state: { text: randomText(1, 100_000) } });
      clock.forward(MINUTE + HOUR - 1);
      expect(await store().sweep()).toEqual({ expired: 0, freed: 0, failed: [] });
      clock.forward(1);
      await eventually(async () => expect(await store().sweep()).toEqual({ expired: 1, freed: 0, failed: [] }));
      expect(await stored().payloads()).toEqual([]);
      expect((await stored().records()).every(({ body }) => body === undefined)).toBe(true);
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_DELETED' });
      clock.forward(DAY);
      await eventually(async () => expect(await store().sweep()).toEqual({ expired: 0, freed: 1, failed: [] }));
      expect(await stored().records()).toEqual([]);
      expect(await store().find(run)).toBeUndefined();
    });

    test('leaves a run alone that is in use though a list says that it is due', async () => {
      const { store, run, clock, stored } = open();
      const saver = store({ retentionSeconds: 7200 });
      await saver.save({ run, state: 'begun' });
      clock.forward(50 * MINUTE);
      const lastWrite = clock.now;
      await saver.save({ run, state: 'in use' });
      await stored().alter('cz', ({ places = {} }) => ({
        revision: 'behind',
        places: { ...places, due: { group: places.due?.group ?? '', order: '0'.repeat(15) } },
      }));
      clock.forward(2 * HOUR - MINUTE);
      await eventually(async () => {
        expect(await store().sweep()).toEqual({ expired: 0, freed: 0, failed: [] });
        expect((await stored().head()).touchedAt).toBe(lastWrite);
      });
      expect(await saver.load(run)).toMatchObject({ version: 2, state: 'in use' });
      expect(await saver.save({ run, status: 'SUCCEEDED' })).toMatchObject({ version: 3 });
    });

    test('loses against a writer that is faster', async () => {
      const { store, run, clock, storage } = open();
      await store({ retentionSeconds: 60 }).save({ run, state: 'one' });
      const before = clock.now;
      clock.forward(2 * HOUR);
      let written = false;
      const slow = watched(storage, {
        async beforeCommit() {
          if (written) return;
          written = true;
          // One that was in time by its own clock, and whose write arrives only now.
          await store({ clock: () => before + 59 * SECOND }).update(run, () => 'two');
        },
      });
      // By now the retention of that write is over as well.
      await eventually(async () => expect(await store({}, slow).sweep()).toMatchObject({ expired: 1, failed: [] }));
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_DELETED' });
    });

    test('may run twice at the same time: each run is swept once', async () => {
      const { store, clock, stored } = open();
      const runs = Array.from({ length: 12 }, (_, i) => `run ${i}`);
      const saver = store({ retentionSeconds: 60 });
      await Promise.all(runs.map((run) => saver.save({ run, state: { page: payload(run) } })));
      const total = async (count: 'expired' | 'freed') => {
        let sum = 0;
        await eventually(async () => {
          const results = await Promise.all([store().sweep(), store().sweep(), store().sweep()]);
          for (const result of results) {
            expect(result.failed).toEqual([]);
            sum += result[count];
          }
          expect(sum).toBe(runs.length);
        });
      };
      clock.forward(2 * HOUR);
      await total('expired');
      for (const run of runs) expect(await stored(run).payloads()).toEqual([]);
      clock.forward(DAY);
      await total('freed');
      for (const run of runs) expect(await stored(run).records()).toEqual([]);
    });

    test('touches no other tenant, unless it is told to sweep them all', async () => {
      const { store, run, clock, storage, tenant, stored } = open();
      const other = `${tenant} 2`;
      await store({ retentionSeconds: 60 }).save({ run, state: 1 });
      await store({ retentionSeconds: 60, tenant: other }).save({ run, state: 1 });
      clock.forward(2 * HOUR);
      await eventually(async () => expect(await store().sweep()).toEqual({ expired: 1, freed: 0, failed: [] }));
      expect(await stored(run, other).head()).not.toHaveProperty('deletedUntil');
      // Only those of this test, because others share the storage.
      const partitions = [stored().partition, stored(run, other).partition];
      const records = {
        ...storage.records,
        list: async (...args: Parameters<typeof storage.records.list>) => {
          const page = await storage.records.list(...args);
          return { ...page, records: page.records.filter(({ partition }) => partitions.includes(partition)) };
        },
      };
      await eventually(async () => {
        const result = await store({}, { ...storage, records }).sweep({ everyTenant: true });
        expect(result).toEqual({ expired: 1, freed: 0, failed: [] });
      });
      await expect(store({ tenant: other }).load(run)).rejects.toMatchObject({ code: 'RUN_DELETED' });
      clock.forward(DAY);
      await eventually(async () => {
        const result = await store({}, { ...storage, records }).sweep({ everyTenant: true });
        expect(result).toEqual({ expired: 0, freed: 2, failed: [] });
      });
    });

    test('says which runs it could not sweep, and sweeps the others', async () => {
      const { store, clock, stored } = open();
      const saver = store({ retentionSeconds: 60 });
      for (const run of ['broken', 'fine']) await saver.save({ run, state: 1 });
      await stored('broken').alter('cz', () => ({ meta: '1{ not JSON' }));
      clock.forward(2 * HOUR);
      await eventually(async () => {
        const result = await store().sweep();
        expect(result).toMatchObject({ expired: 1, failed: [{ run: 'broken', error: { code: 'DAMAGED' } }] });
      });
    });

    test('that died is finished by the next one, an hour later at most', async () => {
      const { store, run, clock, storage, stored } = open();
      const saver = store();
      await saver.save({ run, state: { page: payload('a page') } });
      await saver.delete(run);
      clock.forward(DAY);
      let commits = 0;
      const dying = watched(storage, {
        beforeCommit: () => {
          if (++commits > 1) throw new Error('killed');
        },
      });
      await eventually(async () => {
        const { failed } = await store({}, dying).sweep();
        expect(failed).toMatchObject([{ run, error: { message: 'killed' } }]);
      });
      await expect(store().save({ run, state: 'new' })).rejects.toMatchObject({ code: 'RUN_DELETED' });
      clock.forward(HOUR);
      await eventually(async () => expect(await store().sweep()).toEqual({ expired: 0, freed: 1, failed: [] }));
      expect(await stored().records()).toEqual([]);
    });
  });
}
