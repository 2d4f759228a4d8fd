import { describe, expect, test } from 'vitest';
import type { OpenStores } from './stores.ts';

interface State {
  count: number;
  items: { id: number; tags?: string[] }[];
  nested: { deep: { text: string; gone?: boolean } };
  map: Map<string, { n: number }>;
  set: Set<string>;
  copy?: unknown;
}

const initial = (): State => ({
  count: 0,
  items: [{ id: 3 }, { id: 1, tags: ['a'] }, { id: 2 }],
  nested: { deep: { text: 'old', gone: true } },
  map: new Map([['a', { n: 1 }]]),
  set: new Set(['x']),
});

export function updatingContract(open: OpenStores): void {
  describe('an update', () => {
    test.each<[string, (draft: State) => unknown, (state: State) => void]>([
      [
        'sets a nested value',
        (draft) => {
          draft.nested.deep.text = 'new';
        },
        (state) => {
          state.nested.deep.text = 'new';
        },
      ],
      ['appends to a list', (draft) => void draft.items.push({ id: 4 }), (state) => state.items.push({ id: 4 })],
      [
        'splices a list',
        (draft) => void draft.items.splice(0, 2, { id: 9 }),
        (state) => state.items.splice(0, 2, { id: 9 }),
      ],
      [
        'sorts a list',
        (draft) => void draft.items.sort((a, b) => a.id - b.id),
        (state) => state.items.sort((a, b) => a.id - b.id),
      ],
      [
        'reverses and shortens a list',
        (draft) => {
          draft.items.reverse().length = 2;
        },
        (state) => {
          state.items.reverse().length = 2;
        },
      ],
      ['deletes a key', (draft) => void delete draft.nested.deep.gone, (state) => delete state.nested.deep.gone],
      [
        'changes an element that it found',
        (draft) => void draft.items.find(({ id }) => id === 1)?.tags?.push('b'),
        (state) => state.items[1]?.tags?.push('b'),
      ],
      ['sets an entry of a Map', (draft) => void draft.map.set('b', { n: 2 }), (state) => state.map.set('b', { n: 2 })],
      [
        'changes a value inside a Map',
        (draft) => {
          const entry = draft.map.get('a');
          if (entry) entry.n = 7;
        },
        (state) => state.map.set('a', { n: 7 }),
      ],
      [
        'changes a Map after reading it again',
        (draft) => {
          const { map } = draft;
          map.set('b', { n: draft.map.size });
          map.set('c', { n: draft.map.size });
          map.set('d', { n: draft.map.size });
        },
        (state) => state.map.set('b', { n: 1 }).set('c', { n: 2 }).set('d', { n: 3 }),
      ],
      [
        'adds to a Set and removes from it',
        (draft) => void draft.set.add('y').delete('x'),
        (state) => (state.set = new Set(['y'])),
      ],
      [
        'copies a part to another position',
        (draft) => {
          draft.copy = draft.items[1];
          draft.items[1]?.tags?.push('later');
        },
        (state) => {
          state.items[1]?.tags?.push('later');
          state.copy = { id: 1, tags: ['a', 'later'] };
        },
      ],
      [
        'wraps a part in a new object',
        (draft) => {
          draft.copy = { wrapped: [draft.nested, new Map([['items', draft.items]])] };
        },
        (state) => {
          state.copy = { wrapped: [initial().nested, new Map([['items', initial().items]])] };
        },
      ],
      [
        'adds a new Map and changes it',
        (draft) => {
          const map = new Map([['new', { n: 1 }]]);
          draft.map = map;
          draft.map.set('more', { n: draft.map.size });
          map.set('last', { n: draft.map.size });
        },
        (state) => {
          state.map = new Map([
            ['new', { n: 1 }],
            ['more', { n: 1 }],
            ['last', { n: 2 }],
          ]);
        },
      ],
      [
        'moves the first element to the end',
        (draft) => void draft.items.push(...draft.items.splice(0, 1)),
        (state) => state.items.push(...state.items.splice(0, 1)),
      ],
      ['replaces the whole state', () => ({ ...initial(), count: 5 }), (state) => (state.count = 5)],
      [
        'returns a new state built from the old one',
        (draft) => ({ ...draft, items: draft.items.slice(1), count: 2 }),
        (state) => Object.assign(state, { items: state.items.slice(1), count: 2 }),
      ],
      [
        'awaits a promise',
        async (draft) => {
          await new Promise((resolve) => setImmediate(resolve));
          draft.count = 3;
        },
        (state) => (state.count = 3),
      ],
      [
        'reads everything and changes nothing',
        (draft) => void JSON.stringify([draft, [...draft.map], [...draft.set]]),
        () => {},
      ],
    ])('saves exactly the change when it %s', async (_, recipe, expected) => {
      const { store, run } = open();
      const saver = store<State>();
      await saver.save({ run, state: initial() });
      const loaded = await saver.load(run);
      const updated = await saver.update(run, recipe as (draft: State) => State);
      const after = initial();
      expected(after);
      expect(updated).toMatchObject({ version: 2 });
      expect(updated.state).toStrictEqual(after);
      expect((await store().load(run)).state).toStrictEqual(after);
      // What was handed out before stays as it was.
      expect(loaded.state).toStrictEqual(initial());
      expect((await store().load(run, 1)).state).toStrictEqual(initial());
    });

    test('writes only the values that it changed', async () => {
      const { store, run, stored } = open();
      const saver = store<{ pages: string[]; n: number }>();
      await saver.save({ run, state: { pages: Array.from({ length: 100 }, (_, i) => `page ${i} `.repeat(50)), n: 0 } });
      await saver.update(run, (draft) => {
        draft.n = draft.pages.length;
      });
      expect((await stored().record(2)).body?.length).toBeLessThan(100);
      await saver.update(run, (draft) => void draft.pages.map((page) => page.length));
      expect((await stored().record(3)).body).toBeUndefined();
    });

    test('works on a state that is not an object', async () => {
      const { store, run } = open();
      const saver = store<number>();
      await saver.save({ run, state: 1 });
      expect((await saver.update(run, (n) => n + 1)).state).toBe(2);
      const maps = store<Map<string, number>>();
      await maps.save({ run: `${run} 2`, state: new Map() });
      await maps.update(`${run} 2`, (draft) => void draft.set('a', 1));
      expect((await store().load(`${run} 2`)).state).toStrictEqual(new Map([['a', 1]]));
    });

    test('preserves shared and circular references', async () => {
      const { store, run } = open();
      interface Node {
        n: number;
        next?: Node;
        byId?: Map<string, Node>;
      }
      const a: Node = { n: 1 };
      const b: Node = { n: 2, next: a };
      a.next = b;
      a.byId = new Map([
        ['a', a],
        ['b', b],
      ]);
      const saver = store<{ a: Node; b: Node }>();
      await saver.save({ run, state: { a, b } });
      await saver.update(run, (draft) => {
        draft.b.n = 20;
        const byId = draft.a.byId?.get('a');
        if (byId) byId.n = 10;
      });
      const { state } = await store<{ a: Node; b: Node }>().load(run);
      expect([state.a.n, state.b.n]).toEqual([10, 20]);
      expect(state.a.next).toBe(state.b);
      expect(state.b.next).toBe(state.a);
      expect(state.a.byId?.get('b')).toBe(state.b);
    });

    test('is visible everywhere when it changes a shared object', async () => {
      const { store, run } = open();
      const twice = { n: 1, list: [1] };
      const saver = store<Record<'x' | 'y' | 'z', typeof twice> & { n: number }>();
      await saver.save({ run, state: { x: twice, y: twice, z: structuredClone(twice), n: 0 } });
      await saver.update(run, (draft) => void draft.x.list.push(2));
      await saver.update(run, (draft) => {
        draft.n = draft.x.n + draft.y.n + draft.z.n;
      });
      const { state } = await store<Record<'x' | 'y' | 'z', typeof twice>>().load(run);
      expect(state).toEqual({ x: { n: 1, list: [1, 2] }, y: { n: 1, list: [1, 2] }, z: { n: 1, list: [1] }, n: 3 });
      expect(state.x).toBe(state.y);
      expect(state.z).not.toBe(state.y);
    });

    test('saves fields with the state', async () => {
      const { store, run } = open();
      const saver = store<State>();
      await saver.save({ run, state: initial() });
      const fields = { step: 'count', status: 'SLEEPING', toolResults: { a: 1 }, name: 'here' } as const;
      expect(await saver.update(run, (draft) => void draft.count++, fields)).toMatchObject(fields);
    });

    test('passes the checkpoint to its edit', async () => {
      const { store, run } = open();
      const saver = store<State>();
      await saver.save({ run, state: initial(), step: 'first', toolResults: { a: 1 } });
      await saver.update(run, (draft, checkpoint) => {
        draft.count = 9;
        expect(checkpoint).toMatchObject({ version: 1, step: 'first', toolResults: { a: 1 }, state: { count: 0 } });
      });
      expect((await store<State>().load(run)).state.count).toBe(9);
    });

    test('changes nothing when its edit throws', async () => {
      const { store, run } = open();
      const saver = store<State>();
      await saver.save({ run, state: initial() });
      for (const fail of [
        (draft: State) => {
          draft.items.length = 0;
          draft.map.clear();
          throw new Error('on purpose');
        },
        async (draft: State) => {
          draft.count = 1;
          await Promise.reject(new Error('on purpose'));
        },
      ]) {
        await expect(saver.update(run, fail)).rejects.toThrow('on purpose');
      }
      const saved = await saver.update(run, (draft) => void draft.count++);
      expect(saved).toMatchObject({ version: 2 });
      expect(saved.state).toStrictEqual({ ...initial(), count: 1 });
    });

    test('is rejected for a run that does not exist', async () => {
      const { store, run, stored } = open();
      await expect(store().update(run, () => 1)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
      expect(await stored().records()).toEqual([]);
    });

    test('runs again on the newest state after a conflict', async () => {
      const { store, run } = open();
      const late = store<State>();
      await late.save({ run, state: initial() });
      const other = store<State>();
      await other.load(run);
      await other.save({ run, state: { ...initial(), count: 10 } });
      const seen: number[] = [];
      const updated = await late.update(run, (draft) => {
        seen.push(draft.count);
        draft.count += 1;
      });
      expect(updated).toMatchObject({ version: 3, state: { count: 11 } });
      expect(seen).toEqual([0, 10]);
    });
  });

  describe('an update with an initial state', () => {
    interface Chat {
      readonly messages: readonly string[];
    }

    test('creates a missing run in one checkpoint', async () => {
      const { store, run } = open();
      const fields = { initial: { messages: [] }, owner: 'ada', step: 'greet', toolResults: { a: 1 } };
      const created = await store<Chat>().update(run, (draft) => void draft.messages.push('hello'), fields);
      expect(created).toMatchObject({
        version: 1,
        state: { messages: ['hello'] },
        step: 'greet',
        toolResults: { a: 1 },
      });
      expect(await store().load(run)).toEqual(created);
      expect(await store().describe(run)).toMatchObject({ owner: 'ada' });
      const next = await store<Chat>().update(run, (draft) => void draft.messages.push('again'), fields);
      expect(next).toMatchObject({ version: 2, state: { messages: ['hello', 'again'] } });
    });

    test('does not change the initial state, so every run starts with the same one', async () => {
      const { store, run } = open();
      const initial: Chat & { map: Map<string, number> } = { messages: [], map: new Map() };
      for (const id of [`${run} 1`, `${run} 2`]) {
        const created = await store<typeof initial>().update(
          id,
          (draft) => {
            draft.messages.push(id);
            draft.map.set(id, draft.map.size);
          },
          { initial },
        );
        expect(created.state).toEqual({ messages: [id], map: new Map([[id, 0]]) });
      }
      expect(initial).toEqual({ messages: [], map: new Map() });
    });

    test('creates a run once under concurrent updates', async () => {
      const { store, run } = open();
      const updates = Array.from({ length: 20 }, (_, i) =>
        store<Chat>().update(run, (draft) => void draft.messages.push(`${i}`), { initial: { messages: [] } }),
      );
      await Promise.all(updates);
      const { version, state } = await store<Chat>().load(run);
      expect(version).toBe(20);
      expect(new Set(state.messages).size).toBe(20);
    });

    test('does not create a deleted run again', async () => {
      const { store, run } = open();
      await store().save({ run, state: { messages: [] } });
      await store().delete(run);
      const late = store<Chat>().update(run, (draft) => void draft.messages.push('x'), { initial: { messages: [] } });
      await expect(late).rejects.toMatchObject({ code: 'RUN_DELETED' });
    });
  });

  describe('an update after an older version was loaded', () => {
    test('works on the newest version immediately', async () => {
      const { store, run } = open();
      const saver = store<number>();
      for (const n of [1, 2, 3]) await saver.save({ run, state: n });
      await saver.load(run, 1);
      const seen: number[] = [];
      await saver.update(run, (n) => {
        seen.push(n);
        return n + 1;
      });
      expect(seen).toEqual([3]);
    });
  });
}
