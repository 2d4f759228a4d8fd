import { deepStrictEqual } from 'node:assert';
import { describe, expect, test } from 'vitest';
import type { TypeCodec } from '../../../lambda/checkpoints/document/document.ts';
import type { OpenStores } from './stores.ts';

class Money {
  readonly amount: bigint;
  readonly currency: string;

  constructor(amount: bigint, currency: string) {
    this.amount = amount;
    this.currency = currency;
  }
}

const money: TypeCodec<Money, readonly [bigint, string]> = {
  is: (value): value is Money => value instanceof Money,
  encode: ({ amount, currency }) => [amount, currency],
  decode: ([amount, currency]) => new Money(amount, currency),
};
const types = { Money: money as TypeCodec };

function shared(): unknown {
  const twice = { n: 1 };
  const cyclic: Record<string, unknown> = { name: 'root', twice, again: [twice] };
  cyclic.self = cyclic;
  cyclic.map = new Map([['me', cyclic]]);
  return cyclic;
}

const VALUES: Readonly<Record<string, unknown>> = {
  'a valid and an invalid date': [new Date(1_700_000_000_123), new Date(Number.NaN)],
  'a Map with keys of all kinds': new Map<unknown, unknown>([
    ['a', 1],
    [2, 'b'],
    [{ deep: true }, new Map([[1, 2]])],
    [null, undefined],
  ]),
  'a Set': new Set<unknown>(['x', 3, [1, 2]]),
  BigInt: [0n, -5n, 2n ** 80n],
  'typed arrays': [
    new Uint8Array([0, 255]),
    new Float64Array([0.5, Number.NaN]),
    new BigInt64Array([-1n]),
    new Int16Array(),
  ],
  'buffers and views': [Buffer.from('bytes'), new Uint8Array([1, 2, 3]).buffer, new DataView(new ArrayBuffer(4))],
  'undefined, as value, element and property': [undefined, { a: undefined }, [undefined]],
  'numbers that JSON cannot express': [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0],
  'a RegExp': /^a[/]b$/giu,
  'a URL': new URL('https://user:pw@example.com:8080/a%20b?q=1#x'),
  'keys such as __proto__ and constructor': JSON.parse(
    '{"__proto__":{"polluted":1},"constructor":{"prototype":2},"a":{"__proto__":null}}',
  ),
  'objects with a key $': { $: ['date', 5], other: { $: 'NaN' }, only: { $: { $: 1 } } },
  'an object without a prototype': Object.assign(Object.create(null), { a: 1 }),
  'an array with gaps': Object.assign(new Array(5), { 1: 'one', 3: undefined }),
  'text of any kind': ['', '\u0000', 'a\u2028b', '👩‍👩‍👧', '\ud800', '"\\\n'],
};

export function valuesContract(open: OpenStores): void {
  describe('a value in a state', () => {
    test.each(Object.entries(VALUES))('round-trips unchanged when it contains %s', async (_, value) => {
      const { store, run } = open();
      const saver = store();
      // First as a snapshot, then as a change to something else.
      await saver.save({ run, state: { value } });
      await saver.save({ run, state: { value: 'nothing special', filler: 'x'.repeat(2000) } });
      await saver.save({ run, state: { value, filler: 'x'.repeat(2000) } });
      for (const version of [1, 3]) {
        const { state } = await store<{ value: unknown }>().load(run, version);
        deepStrictEqual(state.value, value);
      }
      expect(Reflect.get({}, 'polluted')).toBeUndefined();
    });

    test('can be shared or circular, and is one object again after a load', async () => {
      const { store, run } = open();
      await store().save({ run, state: shared() });
      const { state } = await store<{
        self: unknown;
        twice: unknown;
        again: unknown[];
        map: Map<string, unknown>;
      }>().load(run);
      expect(state.self).toBe(state);
      expect(state.map.get('me')).toBe(state);
      expect(state.again[0]).toBe(state.twice);
      expect(state.twice).toEqual({ n: 1 });
    });

    test('can be an error with its cause, class and fields', async () => {
      const { store, run } = open();
      const cause = new RangeError('too far');
      const error = Object.assign(new TypeError('no', { cause }), { code: 'E1' });
      const group = new AggregateError([new Error('a')], 'several');
      await store().save({ run, state: { error, group } });
      const { state } = await store<{ error: typeof error; group: AggregateError }>().load(run);
      expect(state.error).toBeInstanceOf(TypeError);
      expect(state.error).toMatchObject({ name: 'TypeError', message: 'no', code: 'E1', stack: error.stack });
      expect(state.error.cause).toBeInstanceOf(RangeError);
      expect(state.error.cause).toMatchObject({ message: 'too far' });
      expect(state.group.errors).toMatchObject([{ message: 'a' }]);
    });

    test('can be an instance of a registered class, which only a store with that class can read', async () => {
      const { store, run } = open();
      const state = { price: new Money(5n, 'EUR'), list: [new Money(7n, 'USD')] };
      await store({ types }).save({ run, state });
      const loaded = await store<typeof state>({ types }).load(run);
      expect(loaded.state.price).toBeInstanceOf(Money);
      expect(loaded.state).toStrictEqual(state);
      const uses = [
        store().load(run),
        store().save({ run, expectedVersion: 1, status: 'SLEEPING' }),
        store().rewind(run, 1),
        store().fork(run, { id: `${run} 2` }),
      ];
      for (const use of await Promise.allSettled(uses)) {
        expect(String(use.status === 'rejected' && use.reason)).toMatch(
          /instance of Money\. Register the class in `types`/,
        );
      }
      await store({ types }).save({ run: `${run} 3`, toolResults: { price: new Money(5n, 'EUR') } });
      const refused = store().save({ run: `${run} 3`, expectedVersion: 1, state: 'plain' });
      await expect(refused).rejects.toThrow(/instance of Money/);
      for (const id of [run, `${run} 3`]) expect(await store({ types }).load(id)).toMatchObject({ version: 1 });
      expect(await store().find(`${run} 2`)).toBeUndefined();
    });

    test.each<[string, unknown]>([
      ['state.tools[3].handler is a function', { tools: [0, 1, 2, { handler: () => {} }] }],
      ['state.key is a symbol', { key: Symbol('s') }],
      ['state.result is a promise', { result: Promise.resolve(1) }],
      ['state.stream is an iterator or a stream', { stream: new ReadableStream() }],
      ['state.price is an instance of Money', { price: new Money(1n, 'EUR') }],
      ['state.map.get("k").deep is a function', { map: new Map([['k', { deep: () => {} }]]) }],
      ['state.weak is a WeakMap', { weak: new WeakMap() }],
      ['state["odd key"][1] is a function', { 'odd key': [0, () => {}] }],
      ['state is a function', () => {}],
    ])('is rejected with the message "%s" before anything is written', async (message, state) => {
      const { store, run, stored } = open();
      const saver = store();
      await expect(saver.save({ run, state })).rejects.toMatchObject({
        code: 'UNSUPPORTED_VALUE',
        message: expect.stringContaining(message),
      });
      expect(await stored().records()).toEqual([]);
      await saver.save({ run, state: 'fine' });
      await expect(saver.save({ run, state })).rejects.toThrow(message);
      expect(await saver.save({ run, state: 'fine too' })).toMatchObject({ version: 2 });
    });

    test('is copied, so the original stays unfrozen and later changes are not saved', async () => {
      const { store, run } = open();
      const state = { list: [1], nested: { a: 1 } };
      const saver = store();
      const saved = await saver.save({ run, state });
      state.list.push(2);
      state.nested.a = 2;
      expect(saved.state).toEqual({ list: [1], nested: { a: 1 } });
      expect((await store().load(run)).state).toEqual({ list: [1], nested: { a: 1 } });
      await saver.save({ run, state });
      expect((await store().load(run)).state).toEqual({ list: [1, 2], nested: { a: 2 } });
    });
  });

  describe('a state that was loaded', () => {
    interface State {
      list: { n: number }[];
      map: Map<string, { n: number }>;
      deep: { at: Date; text: string };
    }
    const initial = (): State => ({
      list: [{ n: 1 }, { n: 2 }],
      map: new Map([['a', { n: 1 }]]),
      deep: { at: new Date(0), text: 'text' },
    });

    test('is frozen, and so is the result of a save', async () => {
      const { store, run } = open();
      const saved = await store<State>().save({ run, state: initial(), toolResults: { a: { b: [1] } } });
      for (const { state, toolResults } of [saved, await store<State>().load(run)]) {
        expect(() => state.list.push({ n: 3 })).toThrow(TypeError);
        expect(() => Object.assign(state.deep, { text: 'other' })).toThrow(TypeError);
        expect(() => Object.assign(state, { more: 1 })).toThrow(TypeError);
        expect(() => Object.assign(toolResults, { more: 1 })).toThrow(TypeError);
        expect(() => Object.assign(toolResults.a as object, { more: 1 })).toThrow(TypeError);
      }
    });

    test('can be saved as a changed copy', async () => {
      const { store, run } = open();
      const saver = store<State>();
      const { state } = await saver.save({ run, state: initial() });
      await saver.save({
        run,
        state: { ...state, list: [...state.list, { n: 3 }], deep: { ...state.deep, text: 'new' } },
      });
      const loaded = await store<State>().load(run);
      expect(loaded.state).toStrictEqual({
        ...initial(),
        list: [{ n: 1 }, { n: 2 }, { n: 3 }],
        deep: { at: new Date(0), text: 'new' },
      });
      expect((await store().load(run, 1)).state).toStrictEqual(initial());
    });

    test('can be saved after a Map, a date or bytes in it were changed in place', async () => {
      const { store, run } = open();
      const state = { ...initial(), bytes: new Uint8Array([1, 2]) };
      const saver = store<typeof state>();
      await saver.save({ run, state });
      const loaded = await saver.load(run);
      loaded.state.map.set('b', { n: 2 });
      loaded.state.deep.at.setTime(5);
      loaded.state.bytes[0] = 9;
      const saved = await saver.save({ run, state: loaded.state });
      const expected = {
        ...initial(),
        map: new Map([
          ['a', { n: 1 }],
          ['b', { n: 2 }],
        ]),
        bytes: new Uint8Array([9, 2]),
      };
      expected.deep.at = new Date(5);
      expect(saved.state).toStrictEqual(expected);
      expect((await store().load(run)).state).toStrictEqual(expected);
      expect((await store().load(run, 1)).state).toStrictEqual(state);
    });

    test.each(['the same object', 'an equal copy'])(
      'adds nothing to the storage when it is saved again as %s',
      async (form) => {
        const { store, run, stored } = open();
        const saver = store<State>();
        const { state } = await saver.save({ run, state: initial() });
        await saver.save({ run, state: form === 'the same object' ? state : initial() });
        expect((await stored().record(2)).body).toBeUndefined();
        expect(await stored().payloads()).toEqual([]);
        expect((await store().load(run)).state).toStrictEqual(initial());
      },
    );

    test('has its keys in the order in which they were set', async () => {
      const { store, run } = open();
      const saver = store<Record<string, number>>();
      await saver.save({ run, state: { a: 1, b: 2, c: 3 } });
      await saver.save({ run, state: { c: 3, a: 1, b: 2 } });
      expect(Object.keys((await store<object>().load(run)).state)).toEqual(['c', 'a', 'b']);
    });
  });
}
