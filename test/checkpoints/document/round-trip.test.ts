import { deepStrictEqual } from 'node:assert';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode } from '../../../lambda/checkpoints/document/decode.ts';
import type { TypeCodecs } from '../../../lambda/checkpoints/document/document.ts';
import { encode } from '../../../lambda/checkpoints/document/encode.ts';
import { parse } from '../../../lambda/checkpoints/document/parse.ts';
import { expectSame, roundTrip, runs, toDoc, values } from './values.ts';

describe('a decoded value', () => {
  it.each<[string, unknown]>([
    ['null and booleans', [null, true, false]],
    ['numbers that JSON cannot express', [0, -0, 1.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]],
    ['undefined in an object and an array', { a: undefined, b: [undefined] }],
    ['strings with lone surrogates', ['\ud800', '\udc00x', '😀', '']],
    ['bigints', [0n, -12n, 2n ** 80n]],
    ['valid and invalid dates', [new Date(0), new Date(1.7e12), new Date(Number.NaN)]],
    ['regular expressions', [/a\/b/giu, /(?:)/]],
    ['URLs', new URL('https://example.com/a?b=c#d')],
    [
      'maps with any key',
      new Map<unknown, unknown>([
        ['a', 1],
        [{ k: 1 }, new Map([[1, new Date(5)]])],
        [undefined, -0],
      ]),
    ],
    ['sets', new Set<unknown>([1, 'a', undefined, Number.NaN])],
    ['arrays with gaps', Object.assign(new Array(5), { 0: 1, 2: 3 })],
    ['an array of gaps only', new Array(3)],
    [
      'typed arrays',
      [new Uint8Array([1, 2, 255]), new Float64Array([1.5, -0]), new BigInt64Array([-1n]), new Uint16Array(0)],
    ],
    ['clamped, integer and float arrays', [new Uint8ClampedArray([3]), new Int32Array([-5]), new Float32Array([0.5])]],
    ['buffers and views', [Buffer.from('häm'), new Uint8Array([7, 8]).buffer, new DataView(new ArrayBuffer(3))]],
    ['a part of a larger buffer', new Uint16Array([1, 2, 3, 4]).subarray(1, 3)],
    ['objects without a prototype', Object.assign(Object.create(null), { a: 1, $: 2 })],
    ['objects with a key $', { $: 'undefined', a: { $: ['map', []] }, b: [{ $: { $: 1 } }] }],
    ['an object that looks like a payload', { $: ['payload', 'id', 'sha', 1] }],
    ['keys that are indexes', { 2: 'b', 1: 'a', z: 1, a: 2 }],
    ['empty values', [{}, [], '', new Map(), new Set(), Object.create(null)]],
  ])('equals the original when it contains %s', (_, value) => {
    expectSame(roundTrip(value), value);
    expectSame(roundTrip(value, true), value);
  });

  it('equals the original for any value', () => {
    fc.assert(
      fc.property(values, fc.boolean(), (value, mutable) => expectSame(roundTrip(value, mutable), value)),
      runs,
    );
  });

  it('keeps the key __proto__ as data and changes no prototype', () => {
    const value = JSON.parse('{"__proto__":{"admin":true},"constructor":{"x":1},"d":{"$":1,"__proto__":[1]}}');
    const back = roundTrip({ value, when: new Date(1) }) as { value: typeof value };
    expect(Object.getPrototypeOf(back.value)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(back.value.d)).toBe(Object.prototype);
    expect(Reflect.get(back.value, 'admin')).toBeUndefined();
    expectSame(back.value, value);
    expectSame(roundTrip(value, true), value);
  });

  it('keeps the order of keys', () => {
    expect(Object.keys(roundTrip({ z: 1, a: new Date(), m: 2 }) as object)).toEqual(['z', 'a', 'm']);
  });

  it('was stored as null if it is an invalid date', () => {
    expect(toDoc(new Date(Number.NaN))).toEqual({ $: ['date', null] });
  });
});

describe('a decoded error', () => {
  it.each(
    [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map(
      (Class) => [Class.name, Class] as const,
    ),
  )('has the class, message, stack, cause and fields of the original %s', (_, Class) => {
    const error = Object.assign(new Class('broken', { cause: { n: 1n } }), { code: 'E', when: new Date(3) });
    const back = roundTrip(error) as typeof error;
    expect(back).toBeInstanceOf(Class);
    expect(Object.getPrototypeOf(back)).toBe(Class.prototype);
    expect([back.message, back.stack, back.cause, back.code, back.when]).toEqual([
      'broken',
      error.stack,
      { n: 1n },
      'E',
      new Date(3),
    ]);
    expect(Object.keys(back)).toEqual(['code', 'when']);
  });

  it('has all errors of an AggregateError', () => {
    const back = roundTrip(new AggregateError([new TypeError('a'), 'b'], 'all')) as AggregateError;
    expect(back).toBeInstanceOf(AggregateError);
    expect(back.errors[0]).toBeInstanceOf(TypeError);
    expect(back.errors[1]).toBe('b');
    expect(Object.keys(back)).toEqual([]);
  });

  it('is an Error with the original name if its class is custom', () => {
    class RateLimited extends Error {
      override name = 'RateLimited';
      retryAfter = 5;
    }
    const back = roundTrip(new RateLimited('slow')) as RateLimited;
    expect(Object.getPrototypeOf(back)).toBe(Error.prototype);
    expect([back.name, back.message, back.retryAfter, String(back)]).toEqual([
      'RateLimited',
      'slow',
      5,
      'RateLimited: slow',
    ]);
  });

  it('can be the reason of an aborted signal', () => {
    const back = roundTrip(AbortSignal.abort().reason) as Error;
    expect([back instanceof Error, back.name, back.message]).toEqual([
      true,
      'AbortError',
      'This operation was aborted',
    ]);
  });

  it('has no stack if the original had none, and keeps a key $', () => {
    const error = Object.assign(new Error('x'), { $: 1 });
    Reflect.deleteProperty(error, 'stack');
    const back = roundTrip(error) as typeof error;
    expect([back.stack, back.$]).toEqual([undefined, 1]);
  });
});

class Money {
  readonly cents: number;
  constructor(cents: number) {
    this.cents = cents;
  }
}
class Lru extends Map<string, number> {}
class Node {
  next: unknown;
}

const types: TypeCodecs = {
  money: {
    is: (value): value is Money => value instanceof Money,
    encode: (money: Money) => ({ cents: money.cents }),
    decode: (data: { cents: number }) => new Money(data.cents),
  },
  lru: {
    is: (value): value is Lru => value instanceof Lru,
    encode: (lru: Lru) => [...lru],
    decode: (data: [string, number][]) => new Lru(data),
  },
  node: {
    is: (value): value is Node => value instanceof Node,
    encode: (node: Node) => ({ next: node.next }),
    decode: (data: { next: unknown }) => Object.assign(new Node(), data),
  },
};

describe('registered classes', () => {
  const through = (value: unknown) => decode(parse(JSON.stringify(encode(value, { root: 'state', types }))), { types });

  it('are decoded as instances, even if they extend a built-in class', () => {
    const back = through([new Money(5), new Lru([['a', 1]])]) as [Money, Lru];
    expect(back[0]).toEqual(new Money(5));
    expect(back[0]).toBeInstanceOf(Money);
    expect(back[1]).toBeInstanceOf(Lru);
    expect([...back[1]]).toEqual([['a', 1]]);
  });

  it('are decoded as one instance if they were one', () => {
    const money = new Money(1);
    const [a, b] = through([money, money]) as Money[];
    expect(a).toBe(b);
  });

  it('may be in a cycle that begins outside of them', () => {
    const node = new Node();
    const owner = { node };
    node.next = { owner };
    const back = through(owner) as { node: { next: { owner: unknown } } };
    expect(back.node.next.owner).toBe(back);
  });

  it('are rejected when their encoded form contains them again', () => {
    const node = new Node();
    node.next = [node];
    expect(() => encode(node, { root: 'state', types })).toThrow('state.next[0] contains itself through its codec');
  });

  it('are named in the error when decode does not know them', () => {
    expect(() => decode(encode(new Money(1), { root: 'state', types }), {})).toThrow('an instance of money');
  });

  it('reuse the document of an equal instance', () => {
    const doc = encode({ price: new Money(5), other: [1] }, { root: 'state', types });
    expect(encode({ price: new Money(5), other: [1] }, { root: 'state', types, base: doc })).toBe(doc);
  });
});

describe('objects that occur more than once', () => {
  it('are numbered in order of first occurrence', () => {
    const a = { a: 1 };
    const b = [2];
    expect(toDoc([b, a, { a, b }])).toEqual([
      { $: ['shared', 0, [2]] },
      { $: ['shared', 1, { a: 1 }] },
      { a: { $: ['ref', 1] }, b: { $: ['ref', 0] } },
    ]);
  });

  it.each([true, false])('are decoded as one object of any kind when `mutable` is %s', (mutable) => {
    const kinds = [
      { a: 1 },
      [1],
      new Date(1),
      new Map(),
      new Set([1]),
      new Uint8Array(2),
      /a/,
      new Error('x'),
      Object.create(null),
    ];
    const back = roundTrip({ first: kinds, second: [...kinds] }, mutable) as { first: unknown[]; second: unknown[] };
    for (const i of kinds.keys()) expect(back.first[i]).toBe(back.second[i]);
  });

  it('may contain themselves', () => {
    const value: Record<string, unknown> = { list: [], map: new Map(), set: new Set(), error: new Error('x') };
    (value.list as unknown[]).push(value);
    (value.map as Map<unknown, unknown>).set('self', value.map).set(value.map, 1);
    (value.set as Set<unknown>).add(value.set);
    (value.error as Error).cause = value.error;
    const back = roundTrip(value) as typeof value;
    expect((back.list as unknown[])[0]).toBe(back);
    expect((back.map as Map<unknown, unknown>).get('self')).toBe(back.map);
    expect((back.map as Map<unknown, unknown>).get(back.map)).toBe(1);
    expect((back.set as Set<unknown>).has(back.set)).toBe(true);
    expect((back.error as Error).cause).toBe(back.error);
  });

  it('stay one object when they are encoded again, and reuse the whole document', () => {
    const part = { a: 1 };
    const doc = toDoc({ x: part, list: [1, part] });
    const live = decode(doc);
    expect(toDoc(live, doc)).toBe(doc);
  });

  it('are numbered by their first occurrence when a list grew at its front', () => {
    const part = { a: 1 };
    const doc = toDoc([{ x: 1 }, part, { y: 2 }, part]);
    const live = decode(doc) as unknown[];
    const next = toDoc([{ new: 1 }, ...live], doc);
    expect(next).toEqual(toDoc([{ new: 1 }, { x: 1 }, part, { y: 2 }, part]));
    const back = decode(next) as unknown[];
    expect(back[2]).toBe(back[4]);
  });

  it('may form any graph', () => {
    const graphs = fc
      .array(fc.array(fc.nat({ max: 9 }), { maxLength: 4 }), { minLength: 1, maxLength: 10 })
      .map((edges) => {
        const nodes = edges.map((_, id) => (id % 3 === 0 ? new Map() : id % 3 === 1 ? [] : {}));
        edges.forEach((targets, from) => {
          targets.forEach((to, i) => {
            const node = nodes[from];
            const target = nodes[to % nodes.length];
            if (node instanceof Map) node.set(i, target);
            else if (node) Reflect.set(node, i, target);
          });
        });
        return nodes[0];
      });
    fc.assert(
      fc.property(graphs, graphs, (graph, other) => {
        const doc = toDoc(graph);
        expect(toDoc(roundTrip(graph, true))).toEqual(doc);
        deepStrictEqual(roundTrip(graph), graph);
        expect(toDoc(graph, toDoc(other))).toEqual(doc);
      }),
      runs,
    );
  });
});
