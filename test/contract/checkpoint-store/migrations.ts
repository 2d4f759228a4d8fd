import { describe, expect, test } from 'vitest';
import type { Schema } from '../../../lambda/checkpoints/format/schema.ts';
import { type Payload, payload } from '../../../lambda/checkpoints/payload.ts';
import type { OpenStores } from './stores.ts';

interface First {
  name: string;
}
interface Second {
  first: string;
  last: string;
}
interface Third extends Second {
  tags: string[];
}

const split = ({ name }: First): Second => ({ first: name.split(' ')[0] ?? '', last: name.split(' ')[1] ?? '' });
const tagged = (state: Second): Third => ({ ...state, tags: [] });

const schema1: Schema = { version: 1 };
const schema2: Schema = { version: 2, migrations: { 1: split } };
const schema3: Schema = { version: 3, migrations: { 1: split, 2: tagged } };

export function migrationsContract(open: OpenStores): void {
  describe('a state of an older schema', () => {
    test('is migrated step by step when it is loaded, and stays stored as it was', async () => {
      const { store, run, stored } = open();
      await store({ schema: schema1 }).save({ run, state: { name: 'Ada Lovelace' }, name: 'old' });
      const before = await stored().records();
      const reader = store<Third>({ schema: schema3 });
      const expected = { first: 'Ada', last: 'Lovelace', tags: [] };
      for (const loaded of [
        await reader.load(run),
        await reader.load(run, 1),
        await reader.load(run, { name: 'old' }),
      ]) {
        expect(loaded.state).toStrictEqual(expected);
        expect(loaded.schema).toBe(1);
      }
      expect((await store<Second>({ schema: schema2 }).load(run)).state).toStrictEqual({
        first: 'Ada',
        last: 'Lovelace',
      });
      expect((await store<First>().load(run)).state).toStrictEqual({ name: 'Ada Lovelace' });
      expect(await stored().records()).toStrictEqual(before);
    });

    test('becomes a snapshot of the new schema with the first save', async () => {
      const { store, run, stored } = open();
      const old = store<First>({ schema: schema1 });
      await old.save({ run, state: { name: 'Ada Lovelace' } });
      await old.save({ run, state: { name: 'Ada King' } });
      const saver = store<Third>({ schema: schema3 });
      const { state } = await saver.load(run);
      expect(await saver.save({ run, state })).toMatchObject({ version: 3, schema: 3 });
      await saver.save({ run, state: { ...state, tags: ['x'] } });
      const metas = await stored().metas();
      expect(metas.map(({ schema }) => schema)).toEqual([1, 1, 3, 3]);
      expect(metas[2]?.anchor).toBeUndefined();
      expect((await store<Third>({ schema: schema3 }).load(run)).state).toStrictEqual({
        first: 'Ada',
        last: 'King',
        tags: ['x'],
      });
      expect((await store<Third>({ schema: schema3 }).load(run, 1)).state).toMatchObject({ last: 'Lovelace' });
      expect((await store().verify(run)).ok).toBe(true);
    });

    test('is migrated before an update edits it', async () => {
      const { store, run } = open();
      await store({ schema: schema1 }).save({ run, state: { name: 'Ada Lovelace' } });
      const saver = store<Third>({ schema: schema3 });
      const updated = await saver.update(run, (draft) => void draft.tags.push('x'));
      expect(updated).toMatchObject({ version: 2, schema: 3, state: { first: 'Ada', tags: ['x'] } });
      expect((await store<Third>({ schema: schema3 }).load(run)).state).toStrictEqual(updated.state);
    });

    test('is migrated by a fork, and restored unchanged by a rewind', async () => {
      const { store, run } = open();
      await store({ schema: schema1 }).save({ run, state: { name: 'Ada Lovelace' } });
      const saver = store<Third>({ schema: schema3 });
      const fork = await saver.fork(run, { edit: (draft) => void draft.tags.push('forked') });
      expect(fork).toMatchObject({ schema: 3, state: { first: 'Ada', tags: ['forked'] } });
      await saver.update(run, (draft) => void draft.tags.push('x'));
      expect(await saver.rewind(run, 1)).toMatchObject({ schema: 1, state: { first: 'Ada', tags: [] } });
      expect(await saver.undo(run)).toMatchObject({ schema: 3, state: { tags: ['x'] } });
      expect((await store().verify(run)).ok).toBe(true);
    });

    test('keeps its payloads', async () => {
      const { store, run, stored } = open();
      await store({ schema: schema1 }).save({ run, state: { name: 'x', page: payload('a page') } });
      const migrations = { 1: ({ page }: { page: Payload }) => ({ renamed: page }) };
      const saver = store<{ renamed: Payload }>({ schema: { version: 2, migrations } });
      await saver.update(run, () => undefined);
      const { state } = await saver.load(run);
      expect(await state.renamed.text()).toBe('a page');
      expect(await stored().payloads()).toHaveLength(1);
    });

    test('can be changed in place by a migration, which receives a copy', async () => {
      const { store, run } = open();
      await store({ schema: schema1 }).save({ run, state: { list: [1], map: new Map([['a', { n: 1 }]]) } });
      const inPlace = (state: { list: number[]; map: Map<string, { n: number }> }) => {
        state.list.push(2);
        state.map.set('b', { n: 2 });
        return state;
      };
      const reader = store<{ list: number[] }>({ schema: { version: 2, migrations: { 1: inPlace } } });
      for (let i = 0; i < 3; i++) expect((await reader.load(run)).state.list).toEqual([1, 2]);
      expect((await store().load(run)).state).toEqual({ list: [1], map: new Map([['a', { n: 1 }]]) });
    });

    test('counts as the oldest version when it was saved without a schema', async () => {
      const { store, run } = open();
      await store().save({ run, state: { name: 'Ada Lovelace' } });
      expect((await store<Third>({ schema: schema3 }).load(run)).state).toMatchObject({ first: 'Ada', tags: [] });
    });

    test('keeps its schema when a save has no new state', async () => {
      const { store, run } = open();
      await store({ schema: schema1 }).save({ run, state: { name: 'Ada Lovelace' } });
      const saver = store<Third>({ schema: schema3 });
      await saver.load(run);
      expect(await saver.save({ run, status: 'SLEEPING' })).toMatchObject({
        version: 2,
        schema: 1,
        state: { tags: [] },
      });
    });

    test('is rejected when a migration throws or returns a promise, and nothing is written', async () => {
      const { store, run, stored } = open();
      await store({ schema: schema1 }).save({ run, state: { name: 'Ada' } });
      const before = await stored().records();
      const cause = new Error('no last name');
      const failing = {
        throws: () => {
          throw cause;
        },
        'returns a promise': async () => ({}),
      };
      for (const migration of Object.values(failing)) {
        const used = store({ schema: { version: 2, migrations: { 1: migration } } });
        const uses = [
          used.load(run),
          used.update(run, () => 'x'),
          used.fork(run, { id: `${run} 2` }),
          used.save({ run, expectedVersion: 1, status: 'SLEEPING' }),
          used.rewind(run, 1),
        ];
        for (const use of await Promise.allSettled(uses)) {
          expect(use).toMatchObject({ status: 'rejected', reason: { code: 'MIGRATION_FAILED' } });
        }
      }
      await expect(
        store({ schema: { version: 2, migrations: { 1: failing.throws } } }).load(run),
      ).rejects.toMatchObject({
        cause,
        message: expect.stringMatching(/migration from schema version 1 threw .*no last name/),
      });
      expect(await stored().records()).toStrictEqual(before);
      expect(await stored(`${run} 2`).records()).toEqual([]);
    });
  });

  describe('a state of a newer schema', () => {
    test('is rejected for reading and for any write', async () => {
      const { store, run, stored } = open();
      await store({ schema: schema3 }).save({ run, state: { first: 'Ada', last: 'Lovelace', tags: [] } });
      const before = await stored().records();
      const old = store({ schema: schema2 });
      const uses = [
        old.load(run),
        old.load(run, 1),
        old.save({ run, expectedVersion: 1, state: { first: 'x', last: 'y' } }),
        old.save({ run, expectedVersion: 1, status: 'SLEEPING' }),
        old.update(run, () => ({})),
        old.fork(run, { id: `${run} 2` }),
        old.rewind(run, 1),
      ];
      for (const use of await Promise.allSettled(uses)) {
        expect(use).toMatchObject({
          status: 'rejected',
          reason: {
            code: 'SCHEMA_TOO_NEW',
            message: expect.stringContaining('version 3; this code reads up to 2'),
          },
        });
      }
      expect(await stored().records()).toStrictEqual(before);
      expect(await stored(`${run} 2`).records()).toEqual([]);
    });

    test('is not changed by code without a schema, which can still rewind, fork and change the status', async () => {
      const { store, run } = open();
      const saver = store({ schema: schema3 });
      for (const first of ['Ada', 'Grace']) await saver.save({ run, state: { first, last: '', tags: [] } });
      const tool = store();
      const loaded = await tool.load(run);
      await expect(tool.save({ run, expectedVersion: loaded, state: { first: 'x' } })).rejects.toMatchObject({
        code: 'SCHEMA_TOO_NEW',
      });
      await expect(tool.update(run, () => ({ first: 'x' }))).rejects.toMatchObject({ code: 'SCHEMA_TOO_NEW' });
      expect(await tool.rewind(run, 1)).toMatchObject({ version: 3, schema: 3, state: { first: 'Ada' } });
      expect(await tool.undo(run)).toMatchObject({ version: 4, schema: 3, state: { first: 'Grace' } });
      expect(await tool.fork(run)).toMatchObject({ schema: 3, state: { first: 'Grace' } });
      expect(await tool.save({ run, status: 'CANCELLED' })).toMatchObject({
        version: 5,
        schema: 3,
        status: 'CANCELLED',
      });
      expect((await store<Third>({ schema: schema3 }).load(run)).state).toMatchObject({ first: 'Grace', tags: [] });
    });
  });

  describe('schema versions that are text', () => {
    const order = ['1.0.0', '1.1.0', '2.0.0'];
    const migrations = { '1.0.0': split, '1.1.0': tagged };

    test('are ordered by the schema', async () => {
      const { store, run } = open();
      await store({ schema: { version: '1.0.0', order } }).save({ run, state: { name: 'Ada Lovelace' } });
      const saver = store<Third>({ schema: { version: '2.0.0', order, migrations } });
      const { state } = await saver.load(run);
      expect(state).toStrictEqual({ first: 'Ada', last: 'Lovelace', tags: [] });
      expect(await saver.save({ run, state })).toMatchObject({ schema: '2.0.0' });
      const old = store({ schema: { version: '1.1.0', order, migrations: { '1.0.0': split } } });
      await expect(old.load(run)).rejects.toMatchObject({ code: 'SCHEMA_TOO_NEW' });
      expect(await old.load(run, 1)).toMatchObject({ state: { first: 'Ada' } });
    });

    test('count as newer when the code does not know them', async () => {
      const { store, run } = open();
      await store({ schema: { version: '9.9.9', order: ['9.9.9'] } }).save({ run, state: {} });
      const known = store({ schema: { version: '2.0.0', order, migrations } });
      await expect(known.load(run)).rejects.toMatchObject({ code: 'SCHEMA_TOO_NEW' });
    });

    test('are rejected with advice when they are older than the oldest migration', async () => {
      const { store, run } = open();
      await store({ schema: schema1 }).save({ run, state: { name: 'Ada' } });
      const reader = store({ schema: { version: 3, oldest: 2, migrations: { 2: tagged } } });
      await expect(reader.load(run)).rejects.toMatchObject({
        code: 'SCHEMA_INVALID',
        message: expect.stringContaining('migrations start at 2'),
      });
    });
  });

  describe('a schema with a missing migration', () => {
    test('is rejected when the store is created', () => {
      const { store } = open();
      expect(() => store({ schema: { version: 3, migrations: { 1: split } } })).toThrow(/missing: 2/);
      expect(() => store({ schema: { version: '2.0.0', migrations: {} } })).toThrow(/need an `order`/);
    });
  });
}
