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

function refusal(
  run: () => unknown,
  code: 'UNSUPPORTED_VALUE' | 'DAMAGED' | 'INVALID_INPUT' = 'UNSUPPORTED_VALUE',
): string {
  try {
    run();
  } catch (error) {
    if (isWaitstateError(error, code)) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('encode refuses, by path,', () => {
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
    ['a fake date', Object.create(Date.prototype), 'state is an instance of Date'],
    ['an object made from another', Object.create({ a: 1 }), 'state is an object with a custom prototype'],
    ['a getter', { a: getter }, 'state.a.x is a getter'],
    ['a symbol key', { a: { [Symbol('s')]: 1 } }, 'state.a has the key Symbol(s)'],
    ['an array with a property', { a: Object.assign([1], { extra: 1 }) }, 'state.a is an array with extra properties'],
    [
      'a sparse array with a property',
      Object.assign(new Array(9), { extra: 1 }),
      'state is an array with extra properties',
    ],
    [
      'a map with a property',
      Object.assign(new Map(), { extra: 1 }),
      'state has extra properties in addition to its content',
    ],
    ['a value in a map', { m: new Map([['k', { f() {} }]]) }, 'state.m.get("k").f is a function'],
    [
      'a key of a map',
      {
        m: new Map([
          [1, 1],
          [() => 1, 2],
        ] as [unknown, number][]),
      },
      'state.m.key(1) is a function',
    ],
    ['a value under an object key', new Map([[{}, Symbol.iterator]]), 'state.value(0) is a symbol'],
    ['an item of a set', { s: new Set([1, new Unknown()]) }, 'state.s.value(1) is an instance of Unknown'],
    ['a field of an error', new Error('x', { cause: { f() {} } }), 'state.cause.f is a function'],
  ])('%s', (_, value, message) => {
    expect(refusal(() => toDoc(value))).toContain(message);
  });

  it('without running a getter or toJSON', () => {
    let calls = 0;
    const count = () => ++calls;
    refusal(() => toDoc(Object.defineProperty({}, 'x', { get: count, enumerable: true })));
    refusal(() => toDoc({ toJSON: count }));
    expect(calls).toBe(0);
  });

  it('nothing that is not enumerable', () => {
    const value = Object.defineProperty({ a: 1 }, 'hidden', { value: () => 1 });
    Object.defineProperty(value, Symbol('s'), { value: 1 });
    expect(toDoc(value)).toEqual({ a: 1 });
  });
});

describe('depth', () => {
  const nested = (levels: number): unknown => {
    let value: unknown = [];
    for (let i = 1; i < levels; i++) value = i % 2 ? { deep: value } : [value];
    return value;
  };

  it('of 1,000 levels is kept', () => {
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

  it('of more is refused with the ends of the path', () => {
    const message = refusal(() => toDoc(nested(1001)));
    expect(message).toMatch(/^state(\.deep|\[0\]).* … .*nests deeper than 1000 levels/);
    expect(message.length).toBeLessThan(400);
    expect(refusal(() => toDoc(nested(100_000)))).toContain('nests deeper');
  });

  it('counts known parts that are put deeper', () => {
    const known = toDoc(nested(600));
    let value: unknown = known;
    for (let i = 0; i < 401; i++) value = { value };
    expect(refusal(() => toDoc(value))).toContain('nests deeper');
  });

  it('of more is damage in what was stored', () => {
    const text = '['.repeat(50_000) + ']'.repeat(50_000);
    expect(refusal(() => parse(text), 'DAMAGED')).toContain('deeper');
    expect(refusal(() => apply({ a: 1 }, [[['a'], JSON.parse(text)]]), 'DAMAGED')).toContain('deeper');
    expect(refusal(() => decode(JSON.parse(text)), 'DAMAGED')).toContain('deeper');
    const deep = parse(JSON.stringify(nested(800)));
    let path: Doc = deep;
    const steps: (string | number)[] = [];
    while (typeof path === 'object' && path !== null && Object.keys(path).length > 0) {
      const key: string | number = Array.isArray(path) ? 0 : 'deep';
      steps.push(key);
      path = Reflect.get(path, key);
    }
    expect(refusal(() => apply(deep, [[steps, deep]]), 'DAMAGED')).toContain('deeper');
  });
});

describe('decode refuses as damaged', () => {
  it.each<[string, Doc]>([
    ['an unknown kind', { $: ['quaternion', 1] }],
    ['an unknown atom', { $: 'nothing' }],
    ['a $ next to other keys', { $: 'NaN', a: 1 }],
    ['a gap outside of an array', { a: { $: 'hole' } }],
    ['an object that was not there yet', { $: ['again', 0] }],
    ['a bigint of letters', { $: ['bigint', 'x'] }],
    ['a date of text', { $: ['date', 'x'] }],
    ['an odd number of bytes', { $: ['bytes', 'Float64Array', 'AAA='] }],
    ['bytes of an unknown class', { $: ['bytes', 'Function', 'AAA='] }],
    ['a map of no entries', { $: ['map', 1] }],
    ['a map of no pairs', { $: ['map', [1]] }],
    ['a payload without id', { $: ['payload', 1] }],
    ['an error without fields', { $: ['error', 'Error', 'x'] }],
  ])('%s', (_, doc) => {
    expect(refusal(() => decode(doc, { payload: (ref) => ref }), 'DAMAGED')).toContain('damaged');
  });

  it('what is not JSON', () => {
    expect(refusal(() => parse('{'), 'DAMAGED')).toContain('not JSON');
  });

  it('no payload when nobody can make one', () => {
    const doc = encode(new Unknown(), { root: 'state', payload: () => ({ $: ['payload', 'id', 'sha', 1] }) });
    expect(refusal(() => decode(doc), 'INVALID_INPUT')).toContain('payload');
  });
});
