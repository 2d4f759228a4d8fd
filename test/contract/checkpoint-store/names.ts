import { describe, expect, test } from 'vitest';
import { all, type OpenStores } from './stores.ts';

export function namesContract(open: OpenStores): void {
  describe('the name of a checkpoint', () => {
    test('finds the checkpoint anywhere in the run', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, state: 'one', name: 'first' });
      for (const state of ['two', 'three']) await saver.save({ run, state });
      await saver.save({ run, state: 'four', name: 'fourth' });
      await saver.save({ run, state: 'five' });
      expect(await store().load(run, { name: 'first' })).toMatchObject({ version: 1, name: 'first', state: 'one' });
      expect(await store().load(run, { name: 'fourth' })).toMatchObject({ version: 4, state: 'four' });
    });

    test('is rejected while another checkpoint of the run has it, and nothing is written', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, state: 'one', name: 'here' });
      for (const fields of [{}, { status: 'SLEEPING' }] as const) {
        await expect(saver.save({ run, state: 'two', name: 'here', ...fields })).rejects.toMatchObject({
          code: 'NAME_TAKEN',
          message: expect.stringContaining('moveName'),
        });
      }
      expect(await store().load(run)).toMatchObject({ version: 1, status: 'RUNNING' });
      expect(await store().load(run, { name: 'here' })).toMatchObject({ version: 1 });
      expect(await saver.save({ run, state: 'two', name: 'there' })).toMatchObject({ version: 2 });
    });

    test('belongs to one run: another run can use the same name', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, state: 'one', name: 'here' });
      await saver.save({ run: `${run} 2`, state: 'two', name: 'here' });
      expect((await saver.load(run, { name: 'here' })).state).toBe('one');
      expect((await saver.load(`${run} 2`, { name: 'here' })).state).toBe('two');
    });

    test('moves to a newer checkpoint with `moveName`', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, state: 'one', name: 'good' });
      expect(await saver.save({ run, state: 'two', name: 'good', moveName: true })).toMatchObject({ version: 2 });
      expect(await saver.save({ run, state: 'three', name: 'new', moveName: true })).toMatchObject({ version: 3 });
      expect(await store().load(run, { name: 'good' })).toMatchObject({ version: 2, state: 'two' });
      expect(await store().load(run, { name: 'new' })).toMatchObject({ version: 3 });
      expect(await store().load(run, 1)).toMatchObject({ state: 'one' });
    });

    test('goes to exactly one of two concurrent checkpoints', async () => {
      const { store, run } = open();
      await store().save({ run, state: 0 });
      const outcomes = await Promise.allSettled(
        [1, 2, 3, 4].map((state) => store().update(run, () => state, { name: 'mine' })),
      );
      const won = outcomes.filter(({ status }) => status === 'fulfilled');
      expect(won).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'NAME_TAKEN' });
      }
      expect(await all(store().history(run))).toHaveLength(2);
      expect((await store().load(run, { name: 'mine' })).version).toBe(2);
    });

    test.each([
      'with spaces and / # % ?',
      '..',
      '%2F',
      'ünïcödé 名',
      'cz',
      'c0000000001',
      'n',
      '__proto__',
      'x'.repeat(256),
    ])('can be %j', async (name) => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, state: 'named', name });
      await saver.save({ run, state: 'later' });
      expect(await store().load(run, { name })).toMatchObject({ version: 1, name, state: 'named' });
      expect(await all(store().history(run))).toHaveLength(2);
      expect(await store().load(run)).toMatchObject({ version: 2 });
    });

    test.each(['', '\udc00', 'x'.repeat(257), 'ü'.repeat(43), 7])('cannot be %j', async (name) => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run });
      await expect(saver.save({ run, name: name as string })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      await expect(saver.load(run, { name: name as string })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    });
  });
}
