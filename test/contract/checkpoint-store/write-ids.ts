import { describe, expect, test } from 'vitest';
import { recordCalls } from './record-calls.ts';
import { all, MINUTE, type OpenStores } from './stores.ts';

export function writeIdsContract(open: OpenStores): void {
  describe('a save that is retried under its write id', () => {
    const versionsOf = async (...[store, run]: [ReturnType<ReturnType<OpenStores>['store']>, string]) =>
      (await all(store.history(run))).map(({ version, writeId }) => [version, writeId]);

    test.each(['the same store', 'another store'])('is recognized by %s, and written once', async (kind) => {
      const { store, run } = open();
      const first = store();
      await first.save({ run, state: 'one', writeId: 'a' });
      const written = await first.save({ run, expectedVersion: 1, state: 'two', writeId: 'b' });
      const again = kind === 'the same store' ? first : store();
      expect(await again.save({ run, expectedVersion: 1, state: 'two', writeId: 'b' })).toEqual(written);
      expect(await versionsOf(first, run)).toEqual([
        [1, 'a'],
        [2, 'b'],
      ]);
    });

    test.each(['the same store', 'another store'])('is recognized by %s when it created the run', async (kind) => {
      const { store, run } = open();
      const first = store();
      const written = await first.save({ run, expectedVersion: 0, state: 'one', writeId: 'a', owner: 'ada' });
      const again = kind === 'the same store' ? first : store();
      expect(await again.save({ run, expectedVersion: 0, state: 'one', writeId: 'a', owner: 'ada' })).toEqual(written);
      expect(await versionsOf(first, run)).toEqual([[1, 'a']]);
    });

    test('is recognized after others have written', async () => {
      const { store, run } = open();
      const first = store();
      const created = await first.save({ run, state: 'one', writeId: 'a' });
      const written = await first.save({ run, state: 'two', writeId: 'b' });
      const other = store();
      await other.load(run);
      for (const state of ['three', 'four']) await other.save({ run, state });
      expect(await store().save({ run, expectedVersion: 1, state: 'two', writeId: 'b' })).toEqual(written);
      expect(await first.save({ run, expectedVersion: 1, state: 'two', writeId: 'b' })).toEqual(written);
      expect(await store().save({ run, expectedVersion: 0, state: 'one', writeId: 'a' })).toEqual(created);
      expect(await versionsOf(first, run)).toHaveLength(4);
    });

    test('is recognized by a writer that has loaded its checkpoint', async () => {
      const { store, run } = open();
      const first = store();
      await first.save({ run, state: 'one' });
      const written = await first.save({ run, state: 'two', writeId: 'b' });
      const restarted = store();
      const loaded = await restarted.load(run);
      expect(await restarted.save({ run, expectedVersion: loaded, state: 'two', writeId: 'b' })).toEqual(written);
      expect(await first.save({ run, expectedVersion: 2, state: 'two', writeId: 'b' })).toEqual(written);
      expect(await versionsOf(first, run)).toHaveLength(2);
    });

    test('is rejected like any other save when another writer saved that version', async () => {
      const { store, run } = open();
      const first = store();
      await first.save({ run, state: 'one', writeId: 'a' });
      await store().save({ run, expectedVersion: 1, state: 'theirs', writeId: 'c' });
      for (const saver of [first, store()]) {
        await expect(saver.save({ run, expectedVersion: 1, state: 'two', writeId: 'b' })).rejects.toMatchObject({
          code: 'STALE_VERSION',
          found: { version: 2, writeId: 'c' },
        });
      }
    });

    test.each([
      ['a step', {}],
      ['a change of status', { status: 'SLEEPING' }],
      ['a save with a name', { name: 'here' }],
    ] as const)('succeeds after the first response was lost when it is %s', async (_, fields) => {
      const { store, run, storage } = open();
      let losses = 0;
      const losing = recordCalls(storage, {
        afterCommit: () => {
          if (losses-- > 0) throw new Error('the response was lost');
        },
      });
      const saver = store({}, losing);
      await saver.save({ run, state: 'one' });
      losses = 1;
      await expect(saver.save({ run, state: 'two', writeId: 'b', ...fields })).rejects.toThrow('the response was lost');
      const again = await saver.save({ run, state: 'two', writeId: 'b', ...fields });
      expect(again).toMatchObject({ version: 2, state: 'two', writeId: 'b' });
      expect(await store().load(run)).toEqual(again);
      expect(await saver.save({ run, state: 'three' })).toMatchObject({ version: 3 });
    });

    test('is recognized in an update too, whose edit is applied once', async () => {
      const { store, run, clock } = open();
      const first = store<{ n: number }>();
      await first.save({ run, state: { n: 0 } });
      let edits = 0;
      const add = (draft: { n: number }) => {
        edits++;
        draft.n++;
      };
      await first.update(run, add, { writeId: 'b' });
      expect(await first.update(run, add, { writeId: 'b' })).toMatchObject({ version: 2, state: { n: 1 } });
      clock.forward(10 * MINUTE);
      expect(await store<{ n: number }>().update(run, add, { writeId: 'b' })).toMatchObject({
        version: 2,
        state: { n: 1 },
      });
      expect(edits).toBe(1);
    });
  });
}
