import { describe, expect, test } from 'vitest';
import { payload } from '../../../lambda/checkpoints/payload.ts';
import type { OpenStores } from './stores.ts';

export function diffingContract(open: OpenStores): void {
  describe('the difference between two checkpoints', () => {
    const states = [
      { prompt: 'old', messages: ['a', 'b', 'c'], limits: new Map([['a', 1]]), gone: { deep: 1 }, at: new Date(0) },
      {
        prompt: 'new',
        messages: ['b', 'c', 'd'],
        limits: new Map([
          ['a', 2],
          ['b', 3],
        ]),
        at: new Date(5),
      },
    ] as const;

    test('has the added, removed and changed values, with their paths', async () => {
      const { store, run } = open();
      const saver = store();
      for (const state of states) await saver.save({ run, state });
      const difference = await store().diff(run, 1, 2);
      expect(difference.added).toMatchObject([
        { path: 'messages[2]', value: 'd' },
        { path: 'limits.get("b")', value: 3 },
      ]);
      expect(difference.removed).toMatchObject([
        { path: 'gone', value: { deep: 1 } },
        { path: 'messages[0]', value: 'a' },
      ]);
      expect(difference.changed).toMatchObject([
        { path: 'prompt', before: 'old', after: 'new' },
        { path: 'limits.get("a")', before: 1, after: 2 },
        { path: 'at', before: new Date(0), after: new Date(5) },
      ]);
    });

    test('has a text for people', async () => {
      const { store, run } = open();
      const saver = store();
      for (const state of states) await saver.save({ run, state });
      const lines = (await store().diff(run, 1, 2)).text.split('\n');
      expect(lines).toContain('~ prompt  "old" → "new"');
      expect(lines).toContain('+ messages[2]  "d"');
      expect(lines).toContain('- gone  { deep: 1 }');
      expect(lines).toHaveLength(7);
    });

    test('swaps added and removed values in the other direction', async () => {
      const { store, run } = open();
      const saver = store();
      for (const state of states) await saver.save({ run, state, name: `the ${state.prompt}` });
      const back = await store().diff(run, { name: 'the new' }, { version: 1 });
      expect(back.added.map(({ path }) => path).toSorted()).toEqual(['gone', 'messages[0]']);
      expect(back.changed.find(({ path }) => path === 'prompt')).toMatchObject({ before: 'new', after: 'old' });
    });

    test('is empty between equal states of any versions', async () => {
      const { store, run } = open();
      const saver = store();
      for (const state of [states[0], states[1], states[0]]) await saver.save({ run, state });
      const difference = await store().diff(run, 1, 3);
      expect(difference).toMatchObject({ added: [], removed: [], changed: [], text: '(no difference)' });
    });

    test('shows payloads without fetching them, and they can still be read', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, state: { page: payload('old page') } });
      await saver.save({ run, state: { page: payload('new page') } });
      const { changed } = await store().diff(run, 1, 2);
      expect(changed).toHaveLength(1);
      const { before, after } = changed[0] as { before: ReturnType<typeof payload>; after: ReturnType<typeof payload> };
      expect([await before.text(), await after.text()]).toEqual(['old page', 'new page']);
    });

    test('is rejected between checkpoints that do not exist', async () => {
      const { store, run } = open();
      await expect(store().diff(run, 1, 2)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
      await store().save({ run });
      await expect(store().diff(run, 1, 2)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
      await expect(store().diff(run, 0, 1)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    });
  });
}
