import { describe, expect, test } from 'vitest';
import { StaleVersionError } from '../../../lambda/checkpoints/stale-version-error.ts';
import { recordCalls } from './record-calls.ts';
import { errorOf, MINUTE, type OpenStores } from './stores.ts';

export function savingContract(open: OpenStores): void {
  describe('a save', () => {
    test('creates the run if it is the first, and versions count from 1 without gaps', async () => {
      const { store, run } = open();
      const saver = store();
      for (const version of [1, 2, 3, 4])
        expect(await saver.save({ run, state: { version } })).toMatchObject({ version });
      expect(await store().load(run)).toMatchObject({ run, version: 4, state: { version: 4 } });
    });

    test('accepts a checkpoint or its version number as the expected version', async () => {
      const { store, run } = open();
      const first = await store().save({ run, state: 'one' });
      expect(await store().save({ run, expectedVersion: first, state: 'two' })).toMatchObject({
        version: 2,
        state: 'two',
      });
      const loaded = await store().load(run);
      expect(await store().save({ run, expectedVersion: loaded, state: 'three' })).toMatchObject({ version: 3 });
    });

    test.each(['a store that has cached the run', 'a store that reads the run first'])(
      'rejects an expected checkpoint with a different hash, in %s',
      async (kind) => {
        const { store, run } = open();
        const writer = store();
        const { version, hash } = await writer.save({ run, state: 'one' });
        const other = await store().save({ run: `${run} 2`, state: 'one' });
        const saver = kind === 'a store that has cached the run' ? writer : store();
        const expectedVersion = { version, hash: other.hash };
        await expect(saver.save({ run, expectedVersion, state: 'two' })).rejects.toMatchObject({
          code: 'STALE_VERSION',
          expectedVersion: 1,
          found: { version: 1, hash },
        });
        expect(await store().load(run)).toMatchObject({ version: 1, state: 'one' });
      },
    );

    test('expects a new run if no version is given', async () => {
      const { store, run } = open();
      const first = await store().save({ run, state: 'one', step: 'begin' });
      const error = await errorOf(store().save({ run, state: 'again' }));
      expect(error).toBeInstanceOf(StaleVersionError);
      expect(error).toMatchObject({ expectedVersion: 0, found: { version: 1, hash: first.hash } });
      expect(await store().load(run)).toMatchObject({ version: 1, state: 'one' });
    });

    test('rejects an existing run if the expected version is 0', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, expectedVersion: 0, state: 'one' });
      await expect(saver.save({ run, expectedVersion: 0, state: 'other' })).rejects.toThrow(/already exists/);
      expect((await store().load(run)).state).toBe('one');
    });

    test.each(['a store that has cached the run', 'a store that reads the run first'])(
      'appends to the expected version, in %s',
      async (kind) => {
        const { store, run } = open();
        const writer = store();
        await writer.save({ run, state: 'one' });
        await writer.save({ run, state: 'two' });
        const saver = kind === 'a store that has cached the run' ? writer : store();
        expect(await saver.save({ run, expectedVersion: 2, state: 'three' })).toMatchObject({ version: 3 });
      },
    );

    test.each(['a store that has cached the run', 'a store that reads the run first'])(
      'rejects an outdated version and reports the newest checkpoint, in %s',
      async (kind) => {
        const { store, run, clock } = open();
        const late = store();
        await late.save({ run, state: 'one' });
        clock.forward(MINUTE);
        const winner = await store({ writer: 'somebody else' }).save({
          run,
          expectedVersion: 1,
          state: 'theirs',
          step: 'their step',
        });
        const saver = kind === 'a store that has cached the run' ? late : store();
        const error = await errorOf(saver.save({ run, expectedVersion: 1, state: 'mine' }));
        expect(error).toBeInstanceOf(StaleVersionError);
        const { state: _, toolResults: __, ...summary } = winner;
        expect(error).toMatchObject({
          code: 'STALE_VERSION',
          name: 'StaleVersionError',
          run,
          expectedVersion: 1,
          found: summary,
        });
        expect(String(error)).toContain('found version 2 (step "their step"');
        expect(await store().load(run)).toMatchObject({ version: 2, state: 'theirs' });
      },
    );

    test('rejects a version that does not exist yet', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, state: 'one' });
      for (const expectedVersion of [2, 7, 9_999_999_999]) {
        const error = await errorOf(saver.save({ run, expectedVersion, state: 'far' }));
        expect(error).toMatchObject({ code: 'STALE_VERSION', expectedVersion, found: undefined });
      }
      expect(await store().load(run)).toMatchObject({ version: 1, state: 'one' });
    });

    test('rejects a version of a run that does not exist', async () => {
      const { store, run, stored } = open();
      await expect(store().save({ run, expectedVersion: 1, state: 1 })).rejects.toMatchObject({
        code: 'RUN_NOT_FOUND',
      });
      expect(await stored().records()).toEqual([]);
    });

    test.each([
      -1,
      1.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      2 ** 53,
      10_000_000_000,
      '3',
      null,
      {},
      { version: '1' },
    ])('rejects %o as a version', async (version) => {
      const { store, run, stored } = open();
      const expectedVersion = version as number;
      await expect(store().save({ run, expectedVersion, state: 1 })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringMatching(/^`expectedVersion` must be a whole number from 0 to 9999999999; found/),
      });
      expect(await stored().records()).toEqual([]);
    });

    test('keeps the state when none is given', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, state: { kept: true } });
      expect(await saver.save({ run, step: 'only a step' })).toMatchObject({ version: 2, state: { kept: true } });
      expect(await store().load(run)).toMatchObject({ version: 2, step: 'only a step', state: { kept: true } });
    });

    test('treats undefined as no state: the state stays, and a run can start without one', async () => {
      const { store, run } = open();
      const saver = store();
      expect((await saver.save({ run })).state).toBeUndefined();
      await saver.save({ run, state: 'something' });
      await saver.save({ run, state: undefined });
      const loaded = await store().load(run);
      expect(loaded).toMatchObject({ version: 3, state: 'something' });
      expect((await saver.rewind(run, 1)).state).toBeUndefined();
    });

    test('costs one conditional write and no read for a step on a cached checkpoint', async () => {
      const { store, run, storage } = open();
      const counting = recordCalls(storage);
      const saver = store({}, counting);
      await saver.save({ run, state: { n: 0 } });
      counting.calls.length = 0;
      for (const n of [1, 2, 3]) await saver.save({ run, state: { n }, step: 'count' });
      await saver.save({ run, expectedVersion: 4, state: { n: 4 } });
      expect(counting.calls).toEqual(['commit', 'commit', 'commit', 'commit']);
    });

    test('reads before it writes if its cached checkpoint is old', async () => {
      const { store, run, storage, clock } = open();
      const counting = recordCalls(storage);
      const saver = store({}, counting);
      await saver.save({ run, state: 'one' });
      clock.forward(10 * MINUTE);
      counting.calls.length = 0;
      expect(await saver.save({ run, state: 'two' })).toMatchObject({ version: 2 });
      expect(counting.calls).toEqual(['range', 'commit']);
    });

    test('can be retried after a failure that wrote nothing', async () => {
      const { store, run, storage } = open();
      let failures = 0;
      const failing = recordCalls(storage, {
        beforeCommit: () => {
          if (failures-- > 0) throw new Error('the storage is unavailable');
        },
      });
      const saver = store({}, failing);
      await saver.save({ run, state: 'one' });
      failures = 1;
      await expect(saver.save({ run, state: 'two' })).rejects.toThrow('the storage is unavailable');
      expect(await saver.save({ run, state: 'two' })).toMatchObject({ version: 2, state: 'two' });
    });
  });

  describe('a load', () => {
    test('returns the newest checkpoint, or the one whose version is given as a number or in an object', async () => {
      const { store, run } = open();
      const saver = store();
      for (const state of ['one', 'two', 'three']) await saver.save({ run, state });
      const loader = store();
      expect(await loader.load(run)).toMatchObject({ version: 3, state: 'three' });
      expect(await loader.load(run, 2)).toMatchObject({ version: 2, state: 'two' });
      expect(await loader.load(run, { version: 1 })).toMatchObject({ version: 1, state: 'one' });
    });

    test('does not change which version the next save follows when it loads an earlier one', async () => {
      const { store, run } = open();
      const saver = store();
      for (const state of ['one', 'two', 'three']) await saver.save({ run, state });
      await saver.load(run, 1);
      expect(await saver.save({ run, state: 'four' })).toMatchObject({ version: 4 });
    });

    test('throws for a missing run or checkpoint, for which `find` returns undefined', async () => {
      const { store, run } = open();
      const saver = store();
      await expect(saver.load(run)).rejects.toMatchObject({
        code: 'RUN_NOT_FOUND',
        message: expect.stringContaining(JSON.stringify(run)),
      });
      expect(await saver.find(run)).toBeUndefined();
      expect(await saver.find(run, 3)).toBeUndefined();
      await saver.save({ run, state: 'one' });
      await expect(saver.load(run, 2)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
      await expect(saver.load(run, { name: 'none' })).rejects.toThrow(/has no checkpoint named "none"/);
      expect(await saver.find(run, 2)).toBeUndefined();
      expect(await saver.find(run, { name: 'none' })).toBeUndefined();
      expect(await saver.find(run)).toMatchObject({ version: 1, state: 'one' });
    });

    test.each([0, -1, 1.5, 2 ** 53, '3', {}, { version: 1, name: 'both' }, null])(
      'rejects %o as a checkpoint, and so does `find`',
      async (checkpoint) => {
        const { store, run } = open();
        const saver = store();
        await saver.save({ run, state: 'one' });
        await expect(saver.load(run, checkpoint as number)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
        await expect(saver.find(run, checkpoint as number)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      },
    );

    test('immediately sees the confirmed writes of another store', async () => {
      const { store, run } = open();
      const reader = store();
      const saver = store();
      for (const state of ['one', 'two', 'three']) {
        await saver.save({ run, state });
        expect((await reader.load(run)).state).toBe(state);
      }
    });
  });
}
