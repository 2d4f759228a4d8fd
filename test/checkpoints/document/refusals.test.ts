import { describe, expect, it } from 'vitest';
import { compare } from '../../../lambda/checkpoints/document/compare.ts';
import { decode } from '../../../lambda/checkpoints/document/decode.ts';
import { diff } from '../../../lambda/checkpoints/document/diff.ts';
import type { Doc } from '../../../lambda/checkpoints/document/document.ts';
import { encode } from '../../../lambda/checkpoints/document/encode.ts';
import { parse } from '../../../lambda/checkpoints/document/parse.ts';
import { apply } from '../../../lambda/checkpoints/document/patch.ts';
import { payloadRefs } from '../../../lambda/checkpoints/document/payloads.ts';
import { isWaitstateError } from '../../../lambda/core/errors.ts';
import { toDoc } from './values.ts';

class Unknown {}
class Stack extends Array {}

function rejectionMessage(
  run: () => unknown,
  code: 'UNSUPPORTED_VALUE' | 'DAMAGED' | 'INVALID_INPUT' = 'UNSUPPORTED_VALUE',
): string {
  try {
    run();
  } catch (error) {
    if (isWaitstateError(error, code)) return error.message;
    throw error;
  }
  throw new Error('nothing was rejected');
}

describe('encode', () => {
  const getter = Object.defineProperty({}, 'x', { get: () => 1, enumerable: true });
  it.each<[string, unknown, string]>([
    ['a function', { tools: [1, 2, 3, { handler: () => 1 }] }, 'state.tools[3].handler is a function; '],
    ['a class', { c: Unknown }, 'state.c is a function; '],
    ['a symbol', { 'odd key': { b: Symbol('x') } }, 'state["odd key"].b is a symbol; '],
    ['a promise', [Promise.resolve(1)], 'state[0] is a promise; await it'],
    ['an iterator', { it: [1].values() }, 'state.it is an iterator or a stream'],
    ['a generator', (function* () {})(), 'state is an iterator or a stream'],
    ['an async generator', (async function* () {})(), 'state is an iterator or a stream'],
    ['a stream', new ReadableStream(), 'state is an iterator or a stream'],
    ['a WeakMap', { w: new WeakMap() }, 'state.w is a WeakMap'],
    ['a WeakRef', { w: new WeakRef({}) }, 'state.w is a WeakRef'],
    ['a boxed primitive', { s: Object('x') }, 'state.s is a boxed primitive'],
    [
      'an instance of an unknown class',
      { u: new Unknown() },
      'state.u is an instance of Unknown; register it in `types`',
    ],
    ['a subclass of Array', { u: new Stack() }, 'state.u is an instance of Stack'],
    ['a subclass of Map', new (class Lru extends Map {})(), 'state is an instance of Lru'],
    ['a subclass of Date', [new (class Day extends Date {})()], 'state[0] is an instance of Day'],
    ['an object that inherits from Date.prototype', Object.create(Date.prototype), 'state is an instance of Date'],
    ['an object with a custom prototype', Object.create({ a: 1 }), 'state is an object with a custom prototype'],
    ['a getter', { a: getter }, 'state.a.x is a getter'],
    ['a symbol key', { a: { [Symbol('s')]: 1 } }, 'state.a has the key Symbol(s)'],
    [
      'an array with an extra property',
      { a: Object.assign([1], { extra: 1 }) },
      'state.a is an array with extra properties',
    ],
    [
      'a sparse array with an extra property',
      Object.assign(new Array(9), { extra: 1 }),
      'state is an array with extra properties',
    ],
    [
      'a map with an extra property',
      Object.assign(new Map(), { extra: 1 }),
      'state has extra properties in addition to its content',
    ],
    ['an unsupported value in a map', { m: new Map([['k', { f() {} }]]) }, 'state.m.get("k").f is a function'],
    [
      'an unsupported key of a map',
      {
        m: new Map([
          [1, 1],
          [() => 1, 2],
        ] as [unknown, number][]),
      },
      'state.m.key(1) is a function',
    ],
    [
      'an unsupported value under an object key of a map',
      new Map([[{}, Symbol.iterator]]),
      'state.value(0) is a symbol',
    ],
    ['an unsupported item of a set', { s: new Set([1, new Unknown()]) }, 'state.s.value(1) is an instance of Unknown'],
    ['an unsupported field of an error', new Error('x', { cause: { f() {} } }), 'state.cause.f is a function'],
  ])('rejects %s with its path', (_, value, message) => {
    expect(rejectionMessage(() => toDoc(value))).toContain(message);
  });

  it('runs no getter and no toJSON', () => {
    let calls = 0;
    const count = () => ++calls;
    rejectionMessage(() => toDoc(Object.defineProperty({}, 'x', { get: count, enumerable: true })));
    rejectionMessage(() => toDoc({ toJSON: count }));
    expect(calls).toBe(0);
  });

  it('ignores properties that are not enumerable', () => {
    const value = Object.defineProperty({ a: 1 }, 'hidden', { value: () => 1 });
    Object.defineProperty(value, Symbol('s'), { value: 1 });
    expect(toDoc(value)).toEqual({ a: 1 });
  });
});

describe('a deeply nested value', () => {
  const nested = (levels: number): unknown => {
    let value: unknown = [];
    for (let i = 1; i < levels; i++) value = i % 2 ? { deep: value } : [value];
    return value;
  };

  it('is kept with 1,000 levels', () => {
    const doc = parse(JSON.stringify(toDoc(nested(1000))));
    expect(decode(doc)).toBe(doc);
    expect(decode(doc, { mutable: true })).toEqual(doc);
    expect(apply(doc, [[[], doc]])).toBe(doc);
    const other = parse(JSON.stringify(doc).replace('[]', '[1]'));
    expect(JSON.stringify(apply(doc, diff(doc, other)))).toBe(JSON.stringify(other));
    expect(compare(doc, other).changed).toHaveLength(1);
    expect(toDoc(decode(other, { mutable: true }), doc)).toEqual(other);
    expect(payloadRefs(doc).size).toBe(0);
    let dates: unknown = new Date(1);
    for (let i = 0; i < 998; i++) dates = [dates];
    expect(payloadRefs(parse(JSON.stringify(toDoc(dates)))).size).toBe(0);
    let maps: unknown = 1;
    for (let i = 0; i < 249; i++) maps = new Map([[1, maps]]);
    expect(toDoc(decode(parse(JSON.stringify(toDoc(maps)))))).toEqual(toDoc(maps));
  });

  it('is rejected with more levels, and the error shortens its path', () => {
    const message = rejectionMessage(() => toDoc(nested(1001)));
    expect(message).toMatch(/^state(\.deep|\[0\]).* … .*nests deeper than 1000 levels/);
    expect(message.length).toBeLessThan(400);
    expect(rejectionMessage(() => toDoc(nested(100_000)))).toContain('nests deeper');
  });

  it('is rejected if a reused part makes it too deep', () => {
    const known = toDoc(nested(600));
    let value: unknown = known;
    for (let i = 0; i < 401; i++) value = { value };
    expect(rejectionMessage(() => toDoc(value))).toContain('nests deeper');
  });

  it('is reported as damaged if stored data has more levels', () => {
    const text = '['.repeat(50_000) + ']'.repeat(50_000);
    expect(rejectionMessage(() => parse(text), 'DAMAGED')).toContain('deeper');
    expect(rejectionMessage(() => apply({ a: 1 }, [[['a'], JSON.parse(text)]]), 'DAMAGED')).toContain('deeper');
    expect(rejectionMessage(() => decode(JSON.parse(text)), 'DAMAGED')).toContain('deeper');
    const deep = parse(JSON.stringify(nested(800)));
    let path: Doc = deep;
    const steps: (string | number)[] = [];
    while (typeof path === 'object' && path !== null && Object.keys(path).length > 0) {
      const key: string | number = Array.isArray(path) ? 0 : 'deep';
      steps.push(key);
      path = Reflect.get(path, key);
    }
    expect(rejectionMessage(() => apply(deep, [[steps, deep]]), 'DAMAGED')).toContain('deeper');
  });
});

describe('decode', () => {
  it.each<[string, Doc]>([
    ['an unknown kind', { $: ['quaternion', 1] }],
    ['an unknown constant', { $: 'nothing' }],
    ['a $ next to other keys', { $: 'NaN', a: 1 }],
    ['a gap outside of an array', { a: { $: 'hole' } }],
    ['a reference to an object that does not exist', { $: ['ref', 0] }],
    ['a bigint of letters', { $: ['bigint', 'x'] }],
    ['a date that is text', { $: ['date', 'x'] }],
    ['an incomplete typed array', { $: ['bytes', 'Float64Array', 'AAA='] }],
    ['a typed array of an unknown class', { $: ['bytes', 'Function', 'AAA='] }],
    ['a map whose entries are not a list', { $: ['map', 1] }],
    ['a map whose entries are not pairs', { $: ['map', [1]] }],
    ['a payload without an id', { $: ['payload', 1] }],
    ['an error without fields', { $: ['error', 'Error', 'x'] }],
  ])('rejects %s as damaged', (_, doc) => {
    expect(rejectionMessage(() => decode(doc, { payload: (ref) => ref }), 'DAMAGED')).toContain('damaged');
  });

  it('rejects text that is not JSON as damaged', () => {
    expect(rejectionMessage(() => parse('{'), 'DAMAGED')).toContain('not JSON');
  });

  it('rejects a payload if no function creates payloads', () => {
    const doc = encode(new Unknown(), { root: 'state', payload: () => ({ $: ['payload', 'id', 'sha', 1] }) });
    expect(rejectionMessage(() => decode(doc), 'INVALID_INPUT')).toContain('payload');
  });
});
