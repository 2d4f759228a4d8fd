import { describe, expect, test } from 'vitest';
import type { RunFilter } from '../../../lambda/checkpoints/lists/runs.ts';
import { eventually } from '../eventually.ts';
import { shape } from './shape.ts';
import { all, HOUR, MINUTE, type OpenStores, type Stores } from './stores.ts';

export function runListsContract(open: OpenStores): void {
  describe('the list of runs', () => {
    /** The ids of the runs that fit, once they are those; lists may be behind. */
    async function expectRuns({ store }: Stores, filter: RunFilter | undefined, expected: readonly string[]) {
      await eventually(async () => {
        expect((await all(store().runs(filter))).map(({ run }) => run)).toEqual(expected);
      });
    }

    test('has the runs of the tenant, most recently written first', async () => {
      const stores = open();
      const { store, clock } = stores;
      const saver = store();
      for (const run of ['first', 'second', 'third']) {
        await saver.save({ run, state: 1 });
        clock.forward(MINUTE);
      }
      await store({ tenant: `${stores.tenant} 2` }).save({ run: 'of another tenant' });
      await expectRuns(stores, undefined, ['third', 'second', 'first']);
      await saver.save({ run: 'first', status: 'SLEEPING' });
      await expectRuns(stores, undefined, ['first', 'third', 'second']);
    });

    test('is not updated by a step within an hour of the last update', async () => {
      const stores = open();
      const { store, clock } = stores;
      const saver = store();
      await saver.save({ run: 'older', state: 1 });
      clock.forward(MINUTE);
      await saver.save({ run: 'newer', state: 1 });
      clock.forward(MINUTE);
      await saver.save({ run: 'older', state: 2 });
      await expectRuns(stores, undefined, ['newer', 'older']);
      clock.forward(HOUR);
      await saver.load('older');
      await saver.save({ run: 'older', state: 3 });
      await expectRuns(stores, undefined, ['older', 'newer']);
    });

    test('is filtered by one or several statuses, agent, owner, tag and step, and by all of them at once', async () => {
      const stores = open();
      const { store, clock } = stores;
      const saver = store();
      const runs = {
        a: { status: 'FAILED', agent: 'travel', owner: 'ada', tags: ['x'], step: 'book flight', stepNumber: 14 },
        b: { status: 'FAILED', agent: 'mail', owner: 'bob', tags: ['x', 'y'], step: 'send' },
        c: { status: 'SLEEPING', agent: 'travel', owner: 'ada', step: 'book flight' },
        d: { status: 'READY', owner: 'ada/../bob' },
        e: {},
      } as const;
      for (const [run, fields] of Object.entries(runs)) {
        await saver.save({ run, state: 1, ...fields });
        clock.forward(MINUTE);
      }
      await expectRuns(stores, {}, ['e', 'd', 'c', 'b', 'a']);
      await expectRuns(stores, { status: 'FAILED' }, ['b', 'a']);
      await expectRuns(stores, { status: ['SLEEPING', 'FAILED', 'FAILED'] }, ['c', 'b', 'a']);
      await expectRuns(stores, { status: [] }, []);
      await expectRuns(stores, { status: 'RUNNING' }, ['e']);
      await expectRuns(stores, { owner: 'ada' }, ['c', 'a']);
      await expectRuns(stores, { owner: 'ada/../bob' }, ['d']);
      await expectRuns(stores, { owner: 'ada', status: 'FAILED' }, ['a']);
      await expectRuns(stores, { owner: 'nobody' }, []);
      await expectRuns(stores, { agent: 'travel' }, ['c', 'a']);
      await expectRuns(stores, { tag: 'x' }, ['b', 'a']);
      await expectRuns(stores, { tag: 'y' }, ['b']);
      await expectRuns(stores, { step: 'book flight' }, ['c', 'a']);
      await expectRuns(stores, { step: 14 }, ['a']);
      await expectRuns(stores, { step: 1 }, ['c', 'b']);
      await expectRuns(stores, { step: '14' }, []);
      await expectRuns(stores, { status: 'FAILED', step: 'book flight', agent: 'travel', owner: 'ada', tag: 'x' }, [
        'a',
      ]);
      await expectRuns(stores, { status: 'FAILED', step: 'book flight', agent: 'travel', owner: 'ada', tag: 'y' }, []);
    });

    test('is filtered by the time of the last write', async () => {
      const stores = open();
      const { store, clock } = stores;
      const saver = store();
      const times: Date[] = [];
      for (const run of ['one', 'two', 'three']) {
        times.push(new Date(clock.now));
        await saver.save({ run, owner: 'ada' });
        clock.forward(MINUTE);
      }
      const [one, two, three] = times as [Date, Date, Date];
      for (const filter of [{}, { owner: 'ada' }]) {
        await expectRuns(stores, { ...filter, since: two }, ['three', 'two']);
        await expectRuns(stores, { ...filter, until: two }, ['one']);
        await expectRuns(stores, { ...filter, since: one, until: three }, ['two', 'one']);
        await expectRuns(stores, { ...filter, since: new Date(three.getTime() + 1) }, []);
        await expectRuns(stores, { ...filter, since: three, until: one }, []);
      }
    });

    test('has each run once over several pages, even when many were written at the same moment', async () => {
      const stores = open();
      const { store, clock } = stores;
      const ids = Array.from({ length: 215 }, (_, i) => `run ${i}`);
      const statusOf = (i: number) => (i % 2 === 0 ? 'SUCCEEDED' : 'FAILED');
      const saver = store({ runsInMemory: 1 });
      await Promise.all(ids.slice(0, 210).map((run, i) => saver.save({ run, owner: 'ada', status: statusOf(i) })));
      clock.forward(MINUTE);
      await Promise.all(ids.slice(210).map((run, i) => saver.save({ run, owner: 'ada', status: statusOf(i) })));
      for (const filter of [{}, { owner: 'ada' }]) {
        await eventually(async () => {
          const listed = (await all(store().runs(filter))).map(({ run }) => run);
          expect(listed.toSorted()).toEqual(ids.toSorted());
          expect(new Set(listed.slice(0, 5))).toEqual(new Set(ids.slice(210)));
        });
      }
      await eventually(async () => {
        expect(await all(store().runs({ status: 'SUCCEEDED' }))).toHaveLength(108);
      });
      expect(await all(store().runs({ limit: 101 }))).toHaveLength(101);
      expect(await all(store().runs({ limit: 3, status: 'FAILED', owner: 'ada' }))).toHaveLength(3);
    });

    test('has the same fields as the summary of a run', async () => {
      const stores = open();
      const { store, run } = stores;
      const saver = store();
      await saver.save({
        run,
        agent: 'a',
        owner: 'o',
        tags: ['t'],
        step: 's',
        status: 'READY',
        retention: { minutes: 1 },
      });
      const summary = await saver.describe(run);
      await eventually(async () => expect(await all(store().runs())).toStrictEqual([summary]));
      await eventually(async () => expect(await all(store().runs({ owner: 'o' }))).toStrictEqual([summary]));
    });

    test('follows a run to another status and another owner', async () => {
      const stores = open();
      const { store } = stores;
      const saver = store();
      await saver.save({ run: 'a', owner: 'ada' });
      await saver.save({ run: 'a', owner: 'bob', status: 'SLEEPING' });
      await expectRuns(stores, { owner: 'ada' }, []);
      await expectRuns(stores, { owner: 'bob' }, ['a']);
      await expectRuns(stores, { status: 'RUNNING' }, []);
      await expectRuns(stores, { status: 'SLEEPING' }, ['a']);
    });

    test('keeps the step at which a run failed when its history is pruned', async () => {
      const stores = open();
      const { store, clock } = stores;
      await store(shape(1)).save({ run: 'a', state: 1 });
      await store(shape(2)).save({ run: 'a', expectedVersion: 1, state: 2, step: 'book flight', status: 'FAILED' });
      clock.forward(2 * HOUR);
      expect(await store().prune('a', { keepLast: 1 })).toMatchObject({ emptied: 1 });
      await expectRuns(stores, { status: 'FAILED', step: 'book flight' }, ['a']);
    });

    test('finds a run by its last step when later checkpoints had none', async () => {
      const stores = open();
      const { store } = stores;
      const saver = store();
      await saver.save({ run: 'a', state: 1 });
      await saver.save({ run: 'a', state: 2, step: 'book flight' });
      await saver.save({ run: 'a', state: 3 });
      await saver.save({ run: 'a', state: 4 });
      await saver.save({ run: 'a', state: 5, status: 'FAILED' });
      await expectRuns(stores, { status: 'FAILED', step: 'book flight' }, ['a']);
      await expectRuns(stores, { status: 'FAILED', step: 1 }, ['a']);
    });

    test('has no deleted or expired run', async () => {
      const stores = open();
      const { store, clock } = stores;
      const saver = store();
      await saver.save({ run: 'stays', owner: 'o' });
      await saver.save({ run: 'is deleted', owner: 'o' });
      await saver.save({ run: 'expires', owner: 'o', retention: { minutes: 1 } });
      await saver.delete('is deleted');
      await eventually(async () => expect(await all(store().runs())).toHaveLength(2));
      clock.forward(2 * HOUR);
      await expectRuns(stores, undefined, ['stays']);
      await expectRuns(stores, { owner: 'o' }, ['stays']);
    });

    test.each([
      [{ limit: 0 }],
      [{ limit: 1.5 }],
      [{ status: 'DONE' }],
      [{ status: ['READY', 'toString'] }],
      [{ since: new Date(Number.NaN) }],
      [{ until: '2026' }],
      [{ owner: '' }],
    ])('rejects the filter %o', async (filter) => {
      const { store } = open();
      await expect(all(store().runs(filter as RunFilter))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    });
  });
}
