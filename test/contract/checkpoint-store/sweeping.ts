import { describe, expect, test } from 'vitest';
import { payload } from '../../../lambda/checkpoints/payload.ts';
import { eventually } from '../eventually.ts';
import { randomText } from './random-text.ts';
import { recordCalls } from './record-calls.ts';
import { DAY, HOUR, MINUTE, type OpenStores, SECOND } from './stores.ts';

export function sweepingContract(open: OpenStores): void {
  describe('a sweep', () => {
    test('removes an expired run with its payloads, and its id a day later', async () => {
      const { store, run, clock, stored } = open();
      const saver = store({ retention: { minutes: 1 } });
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

    test('skips a run that is in use although a list has it as due', async () => {
      const { store, run, clock, stored } = open();
      const saver = store({ retention: { hours: 2 } });
      await saver.save({ run, state: 'begun' });
      clock.forward(50 * MINUTE);
      const lastWrite = clock.now;
      await saver.save({ run, state: 'in use' });
      await stored().alter('cz', ({ lists: entries = {} }) => ({
        revision: 'behind',
        lists: { ...entries, due: { group: entries.due?.group ?? '', order: '0'.repeat(15) } },
      }));
      clock.forward(2 * HOUR - MINUTE);
      await eventually(async () => {
        expect(await store().sweep()).toEqual({ expired: 0, freed: 0, failed: [] });
        expect((await stored().head()).updatedAt).toBe(lastWrite);
      });
      expect(await saver.load(run)).toMatchObject({ version: 2, state: 'in use' });
      expect(await saver.save({ run, status: 'SUCCEEDED' })).toMatchObject({ version: 3 });
    });

    test('retries when a write arrives meanwhile, and removes the run if that has expired too', async () => {
      const { store, run, clock, storage } = open();
      await store({ retention: { minutes: 1 } }).save({ run, state: 'one' });
      const before = clock.now;
      clock.forward(2 * HOUR);
      let written = false;
      const slow = recordCalls(storage, {
        async beforeCommit() {
          if (written) return;
          written = true;
          // One that was in time by its own clock, and whose write arrives only now.
          await store({ clock: () => before + 59 * SECOND }).update(run, () => 'two');
        },
      });
      // By now the retention of that write has expired as well.
      await eventually(async () => expect(await store({}, slow).sweep()).toMatchObject({ expired: 1, failed: [] }));
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_DELETED' });
    });

    test('sweeps each run once when two sweeps run at the same time', async () => {
      const { store, clock, stored } = open();
      const runs = Array.from({ length: 12 }, (_, i) => `run ${i}`);
      const saver = store({ retention: { minutes: 1 } });
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

    test('covers no other tenant unless `everyTenant` is set', async () => {
      const { store, run, clock, storage, tenant, stored } = open();
      const other = `${tenant} 2`;
      await store({ retention: { minutes: 1 } }).save({ run, state: 1 });
      await store({ retention: { minutes: 1 }, tenant: other }).save({ run, state: 1 });
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

    test('reports the runs that it could not sweep, and sweeps the others', async () => {
      const { store, clock, stored } = open();
      const saver = store({ retention: { minutes: 1 } });
      for (const run of ['broken', 'fine']) await saver.save({ run, state: 1 });
      await stored('broken').alter('cz', () => ({ meta: '1{ not JSON' }));
      clock.forward(2 * HOUR);
      await eventually(async () => {
        const result = await store().sweep();
        expect(result).toMatchObject({ expired: 1, failed: [{ run: 'broken', error: { code: 'DAMAGED' } }] });
      });
    });

    test('is finished by another sweep at most an hour later when its process died', async () => {
      const { store, run, clock, storage, stored } = open();
      const saver = store();
      await saver.save({ run, state: { page: payload('a page') } });
      await saver.delete(run);
      clock.forward(DAY);
      let commits = 0;
      const dying = recordCalls(storage, {
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
