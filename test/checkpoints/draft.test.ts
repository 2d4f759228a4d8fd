import { describe, expect, test } from 'vitest';
import type { Checkpoint } from '../../lambda/checkpoints/checkpoint.ts';
import { adopt, type Doc } from '../../lambda/checkpoints/document/document.ts';
import { applyEdit, type Edit } from '../../lambda/checkpoints/draft.ts';

/** A state as a load gives it: frozen, and known as plain. */
const loaded = <T>(state: T): T => adopt(structuredClone(state) as Doc) as T;
const edit = <T>(state: T, change: Edit<T>): Promise<T> => applyEdit(state, change, {} as Checkpoint<T>);

describe('an edit of a draft', () => {
  const state = () => loaded({ a: { b: { c: 1 } }, list: [{ n: 1 }, { n: 2 }, { n: 3 }], other: { kept: true } });

  test('leaves the state unchanged and shares untouched parts with it', async () => {
    const before = state();
    const after = await edit(before, (draft) => {
      draft.a.b.c = 2;
    });
    expect(before).toEqual(state());
    expect(after).toEqual({ ...state(), a: { b: { c: 2 } } });
    expect(after.other).toBe(before.other);
    expect(after.list).toBe(before.list);
    expect(after.a).not.toBe(before.a);
  });

  test('returns the original state when it only reads', async () => {
    const before = state();
    const looking = await edit(
      before,
      (draft) => void [draft.a.b.c, draft.list.map(({ n }) => n), Object.keys(draft.other)],
    );
    expect(looking).toBe(before);
  });

  test('returns the original state when it reverts its changes', async () => {
    const before = state();
    const after = await edit(before, (draft) => {
      draft.a.b.c = 9;
      draft.list.push({ n: 4 });
      draft.list.pop();
      draft.a.b.c = 1;
    });
    expect(after).toBe(before);
  });

  test('sees its own changes', async () => {
    await edit(state(), (draft) => {
      const { list } = draft;
      list.unshift({ n: 0 });
      expect(draft.list.map(({ n }) => n)).toEqual([0, 1, 2, 3]);
      expect(list).toBe(draft.list);
      const [, second] = list;
      if (second) second.n = 10;
      expect(draft.list[1]?.n).toBe(10);
      expect(Array.isArray(draft.list)).toBe(true);
      expect(JSON.parse(JSON.stringify(draft.list))).toEqual([{ n: 0 }, { n: 10 }, { n: 2 }, { n: 3 }]);
      expect('a' in draft).toBe(true);
      Reflect.deleteProperty(draft, 'a');
      expect('a' in draft).toBe(false);
      expect(Object.keys(draft)).toEqual(['list', 'other']);
    });
  });

  test('keeps elements that only moved', async () => {
    const before = state();
    const after = await edit(before, (draft) => void draft.list.reverse());
    expect(after.list.map(({ n }) => n)).toEqual([3, 2, 1]);
    expect(after.list[0]).toBe(before.list[2]);
    expect(after.list[2]).toBe(before.list[0]);
  });

  test('can put a part in two positions, which are independent once saved', async () => {
    const after = await edit(loaded<Record<string, { n: number }>>({ a: { n: 1 } }), (draft) => {
      draft.b = draft.a ?? { n: 0 };
      if (draft.a) draft.a.n = 2;
    });
    expect(after).toEqual({ a: { n: 2 }, b: { n: 2 } });
  });

  test('gives each occurrence of equal plain parts its own draft', async () => {
    const part = loaded({ n: 1 });
    const before = adopt({ a: part, b: part } as Doc) as { a: { n: number }; b: { n: number } };
    const after = await edit(before, (draft) => {
      draft.a.n = 2;
    });
    expect(after).toEqual({ a: { n: 2 }, b: { n: 1 } });
  });

  test('leaves no proxies in the result, wherever the edit has put them', async () => {
    const after = await edit(loaded<Record<string, unknown>>({ a: { n: 1 }, b: { n: 2 } }), (draft) => {
      draft.list = [draft.a, { deep: [draft.b] }];
      draft.map = new Map<unknown, unknown>([
        ['a', draft.a],
        [draft.b, 'as key'],
      ]);
      draft.set = new Set([draft.a]);
    });
    // A stand-in is a Proxy, which cannot be cloned.
    expect(structuredClone(after)).toEqual(after);
    expect((after.map as Map<string, unknown>).get('a')).toBe(after.a);
  });

  test('gets Maps and Sets as copies that stay the same on every read', async () => {
    const inner = (n: number) => Object.freeze({ n });
    const before = Object.freeze({
      map: new Map([['a', inner(1)]]),
      set: new Set(['x']),
      untouched: new Map([['b', inner(1)]]),
    });
    const after = await edit(before, (draft) => {
      expect(draft.map).toBe(draft.map);
      draft.map.set('c', { n: 3 });
      const a = draft.map.get('a');
      if (a) a.n = 2;
      draft.set.add('y');
    });
    expect(after.map).toEqual(
      new Map([
        ['a', { n: 2 }],
        ['c', { n: 3 }],
      ]),
    );
    expect(after.set).toEqual(new Set(['x', 'y']));
    expect(after.untouched).toBe(before.untouched);
    expect(before.map).toEqual(new Map([['a', { n: 1 }]]));
    expect(before.set).toEqual(new Set(['x']));
  });

  test('treats keys such as __proto__ as data', async () => {
    const before = loaded(JSON.parse('{"__proto__":{"n":1},"a":1}') as Record<string, unknown>);
    const after = await edit(before, (draft) => {
      draft.a = 2;
    });
    expect(Object.keys(after)).toEqual(['__proto__', 'a']);
    expect(Object.getPrototypeOf(after)).toBe(Object.prototype);
    expect(JSON.stringify(after)).toBe('{"__proto__":{"n":1},"a":2}');
  });

  test('keeps holes in arrays, and objects without a prototype', async () => {
    const sparse: unknown[] = [1];
    sparse[3] = 2;
    const bare = Object.freeze(
      Object.assign(Object.create(null) as { n: number; deep: object }, { n: 1, deep: Object.freeze({}) }),
    );
    const before = Object.freeze({ sparse: Object.freeze(sparse), bare });
    const after = await edit(before as unknown as { sparse: unknown[]; bare: { n: number } }, (draft) => {
      draft.sparse.push(3);
      draft.bare.n = 2;
    });
    expect(Object.keys(after.sparse)).toEqual(['0', '3', '4']);
    expect(Object.getPrototypeOf(after.bare)).toBeNull();
  });

  test('can return another state, while undefined means the draft', async () => {
    expect(await edit(state() as object, () => ({ new: 1 }))).toEqual({ new: 1 });
    expect(await edit(loaded({ n: 1 }) as { n: number } | null, () => null)).toBeNull();
    expect(await edit(5, (n) => n + 1)).toBe(6);
    expect(await edit(state(), async () => undefined)).toEqual(state());
    expect(await edit(state() as object, (draft) => Reflect.get(draft, 'a'))).toEqual({ b: { c: 1 } });
  });

  test('leaves the state unchanged when it fails', async () => {
    const before = state();
    const failing = edit(before, (draft) => {
      draft.list.length = 0;
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    expect(before).toEqual(state());
  });

  test('works directly on a state that is not frozen, such as a migrated one', async () => {
    const fresh = { list: [1] };
    const after = await edit(fresh, (draft) => void draft.list.push(2));
    expect(after).toEqual({ list: [1, 2] });
  });
});
