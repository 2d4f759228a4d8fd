import { beforeAll, describe, expect, test } from 'vitest';
import type { HistoryOptions } from '../../../lambda/checkpoints/lists/history.ts';
import { recordCalls } from './record-calls.ts';
import { shape } from './shape.ts';
import { all, type OpenStores, type Stores } from './stores.ts';

const LENGTH = 105;

export function historyContract(open: OpenStores): void {
  describe('the history of a run', () => {
    let stores: Stores;
    beforeAll(async () => {
      stores = open();
      const saver = stores.store();
      for (let n = 1; n <= LENGTH; n++) await saver.save({ run: stores.run, state: { n }, step: `step ${n}` });
    });

    const versions = async (options?: HistoryOptions) =>
      (await all(stores.store().history(stores.run, options))).map(({ version }) => version);
    const numbers = (from: number, to: number) =>
      Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => from + (from < to ? i : -i));

    test('has every checkpoint, oldest first or newest first, over several pages', async () => {
      expect(await versions()).toEqual(numbers(1, LENGTH));
      expect(await versions({ newestFirst: true })).toEqual(numbers(LENGTH, 1));
    });

    test('has the checkpoints within the bounds, both included', async () => {
      expect(await versions({ from: 100 })).toEqual(numbers(100, LENGTH));
      expect(await versions({ to: 3 })).toEqual([1, 2, 3]);
      expect(await versions({ from: 2, to: 4, newestFirst: true })).toEqual([4, 3, 2]);
      expect(await versions({ from: 7, to: 7 })).toEqual([7]);
      expect(await versions({ from: 8, to: 7 })).toEqual([]);
      expect(await versions({ from: LENGTH + 1 })).toEqual([]);
    });

    test('has at most `limit` checkpoints', async () => {
      expect(await versions({ limit: 1 })).toEqual([1]);
      expect(await versions({ limit: 2, newestFirst: true })).toEqual([LENGTH, LENGTH - 1]);
      expect(await versions({ limit: 101 })).toEqual(numbers(1, 101));
      expect(await versions({ limit: 1000, from: 104 })).toEqual([104, 105]);
    });

    test('describes each checkpoint without its state', async () => {
      const [entry] = await all(stores.store().history(stores.run, { from: 50, limit: 1 }));
      expect(entry).toMatchObject({ version: 50, step: 'step 50', stepNumber: 50, kind: 'save', pruned: false });
      expect(entry).not.toHaveProperty('state');
      expect(entry).not.toHaveProperty('toolResults');
    });

    test('reads no further than needed', async () => {
      const counting = recordCalls(stores.storage);
      for await (const { version } of stores.store({}, counting).history(stores.run)) if (version === 5) break;
      expect(counting.calls.filter((call) => call === 'range')).toHaveLength(1);
      expect(counting.calls).not.toContain('open');
    });

    test.each([
      [{ from: 0 }],
      [{ to: 1.5 }],
      [{ from: -1 }],
      [{ limit: 0 }],
      [{ limit: 2.5 }],
      [{ limit: Number.NaN }],
      [{ to: '3' as unknown as number }],
    ])('rejects the options %o', async (options) => {
      await expect(versions(options)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    });

    test('is rejected for a run that does not exist', async () => {
      const { store, run } = open();
      await expect(all(store().history(run))).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    });

    test('shows the kind of each checkpoint', async () => {
      const { store, run } = open();
      const saver = store<number>(shape(1));
      await saver.save({ run, state: 1 });
      await saver.update(run, (n) => n + 1);
      await saver.rewind(run, 1);
      await saver.undo(run);
      await saver.redo(run);
      await store(shape(2)).save({ run, expectedVersion: 5, state: 6 });
      await store().prune(run, { keepLast: 1 });
      const fork = await store().fork(run, { id: `${run} fork` });
      const kinds = (await all(store().history(run))).map(({ kind, restored }) => [kind, restored]);
      expect(kinds).toEqual([
        ['save', undefined],
        ['save', undefined],
        ['rewind', 1],
        ['undo', 2],
        ['redo', 3],
        ['save', undefined],
        ['prune', 6],
      ]);
      expect(fork.kind).toBe('fork');
    });
  });

  describe('the summary of a run', () => {
    test('has the listed fields as of the last status change', async () => {
      const { store, run, clock } = open();
      const created = new Date(clock.now);
      const saver = store();
      await saver.save({ run, state: 1, agent: 'travel', owner: 'ada', tags: ['a', 'b'], retention: { hours: 1 } });
      clock.forward(1000);
      const changed = new Date(clock.now);
      await saver.save({ run, status: 'SLEEPING', step: 'wait', stepNumber: 4 });
      clock.forward(1000);
      await saver.save({ run, state: 2, step: 'a step since' });
      expect(await store().describe(run)).toStrictEqual({
        run,
        status: 'SLEEPING',
        agent: 'travel',
        owner: 'ada',
        tags: ['a', 'b'],
        statusChange: { version: 2, step: 'wait', stepNumber: 4 },
        createdAt: created,
        updatedAt: changed,
        retention: { hours: 1 },
        forked: false,
        encrypted: false,
        shredded: false,
      });
    });

    test('follows changes of agent, owner and tags', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, agent: 'a', owner: 'ada', tags: ['x', 'y'] });
      await saver.save({ run, agent: 'b', owner: 'bob', tags: ['x\ny'] });
      expect(await store().describe(run)).toMatchObject({ agent: 'b', owner: 'bob', tags: ['x\ny'] });
      await saver.save({ run, tags: [] });
      expect(await store().describe(run)).toMatchObject({ agent: 'b', owner: 'bob', tags: [] });
    });

    test('is rejected for a run that does not exist', async () => {
      const { store, run } = open();
      await expect(store().describe(run)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    });
  });
}
