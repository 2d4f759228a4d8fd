import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { decode } from '../../../lambda/checkpoints/document/decode.ts';
import { adopt, type Doc } from '../../../lambda/checkpoints/document/document.ts';
import { encode } from '../../../lambda/checkpoints/document/encode.ts';
import { parse } from '../../../lambda/checkpoints/document/parse.ts';
import { type PayloadRef, payloadDoc, payloadRefs } from '../../../lambda/checkpoints/document/payloads.ts';
import { runs, toDoc, values } from './values.ts';

const child = (doc: unknown, ...path: (string | number)[]): unknown =>
  path.reduce((at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined), doc);

function expectFrozen(doc: unknown): void {
  if (typeof doc !== 'object' || doc === null) return;
  if (!Object.isFrozen(doc)) expect(doc).toSatisfy(Object.isFrozen);
  Object.values(doc).forEach(expectFrozen);
}

const messages = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => ({ id: from + i, role: 'user', content: [{ text: `m${from + i}` }] }));

describe('a plain part', () => {
  it('is the same object in the document and in the state', () => {
    const doc = parse('{"a":{"b":[1]},"when":{"$":["date",1]}}');
    const live = decode(doc) as { a: unknown; when: Date };
    expect(live.a).toBe(child(doc, 'a'));
    expect(live).not.toBe(doc);
    expect(Object.isFrozen(live)).toBe(true);
    expect(decode(parse('[1]'))).toEqual([1]);
  });

  it('is not traversed again when it is encoded again', () => {
    const doc = parse(JSON.stringify({ list: messages(0, 100) }));
    const inside = child(doc, 'list', 5) as object;
    let reads = 0;
    const spy = { getOwnPropertyDescriptor: () => void ++reads, get: () => ++reads };
    const probe = adopt({ inside: new Proxy({}, spy) } as unknown as Doc);
    reads = 0;
    const next = toDoc({ probe, inside }, doc);
    expect(reads).toBe(0);
    expect(child(next, 'probe')).toBe(probe);
    expect(child(next, 'inside')).toBe(inside);
  });

  it('is a value, so two occurrences are not shared', () => {
    const part = child(parse('{"part":{"x":1}}'), 'part');
    expect(toDoc({ a: part, b: part })).toEqual({ a: { x: 1 }, b: { x: 1 } });
  });

  it('is replaced by an equal part of the base', () => {
    const base = parse('{"a":{"b":[1]}}');
    expect(toDoc(parse('{"a":{"b":[1]}}'), base)).toBe(base);
  });

  it('is created again by every decode when it contains a special value', () => {
    const doc = parse('{"m":{"$":["map",[["a",{"x":1}]]]}}');
    const first = decode(doc) as { m: Map<string, unknown> };
    first.m.set('b', 2);
    expect((decode(doc) as { m: Map<string, unknown> }).m.size).toBe(1);
    expect(first.m.get('a')).toBe(child(doc, 'm', '$', 1, 0, 1));
    expect(toDoc(first, doc)).toEqual(
      toDoc({
        m: new Map<string, unknown>([
          ['a', { x: 1 }],
          ['b', 2],
        ]),
      }),
    );
  });

  it('is copied by a mutable decode', () => {
    const doc = parse('{"a":{"b":[1]}}');
    const live = decode(doc, { mutable: true }) as { a: { b: number[] } };
    live.a.b.push(2);
    expect(doc).toEqual({ a: { b: [1] } });
    expect(toDoc(live, doc)).toEqual({ a: { b: [1, 2] } });
  });

  it('is escaped like any object with $ when the user passes a document', () => {
    const special = toDoc(new Date(5));
    const doc = toDoc({ special }, parse(JSON.stringify({ special })));
    expect(doc).toEqual({ special: { $: ['object', { $: ['date', 5] }] } });
    expect(decode(doc)).toEqual({ special: { $: ['date', 5] } });
    const list = adopt([special, 1]);
    expect(toDoc([special, 1], list)).toEqual([{ $: ['object', { $: ['date', 5] }] }, 1]);
  });
});

describe('encode against a base', () => {
  const stateOf = (list: unknown[]) => ({
    list,
    when: new Date(1),
    map: new Map([['k', { v: 1 }]]),
    bytes: new Uint8Array(3),
  });

  it('returns the base itself when nothing changed', () => {
    const base = toDoc(stateOf(messages(0, 5)));
    expect(toDoc(stateOf(messages(0, 5)), base)).toBe(base);
    expect(toDoc(stateOf(messages(0, 5)), parse(JSON.stringify(base)))).toEqual(base);
  });

  it.each<[string, (list: unknown[]) => unknown[], [index: number, old: number][]]>([
    [
      'an append',
      (list) => [...list, { id: 'new' }],
      [
        [0, 0],
        [9, 9],
      ],
    ],
    [
      'a removal from the front',
      (list) => list.slice(3),
      [
        [0, 3],
        [6, 9],
      ],
    ],
    [
      'an insertion',
      (list) => list.toSpliced(4, 0, { id: 'new' }),
      [
        [3, 3],
        [5, 4],
        [10, 9],
      ],
    ],
    [
      'a removal',
      (list) => list.toSpliced(4, 2),
      [
        [3, 3],
        [4, 6],
        [7, 9],
      ],
    ],
    [
      'an edit in place and an append',
      (list) => [...list.with(2, { id: 'x' }), { id: 'new' }],
      [
        [1, 1],
        [3, 3],
        [9, 9],
      ],
    ],
    [
      'a sliding window',
      (list) => [...list.slice(2), { id: 'n' }, { id: 'm' }],
      [
        [0, 2],
        [7, 9],
      ],
    ],
    [
      'a summary in place of many elements',
      (list) => [list[0], { id: 'sum' }, ...list.slice(6), { id: 'n' }],
      [
        [0, 0],
        [2, 6],
        [5, 9],
      ],
    ],
  ])('reuses the elements of a mutable list around %s', (_, change, same) => {
    const base = toDoc(messages(0, 10));
    const next = toDoc(change(messages(0, 10)), base);
    expect(next).toEqual(toDoc(change(messages(0, 10))));
    for (const [index, old] of same) expect(child(next, index)).toBe(child(base, old));
  });

  it('reuses unchanged parts of a changed element', () => {
    const base = toDoc(messages(0, 3));
    const live = structuredClone(base) as { role: string }[];
    Object.assign(live[1] ?? {}, { role: 'tool' });
    const next = toDoc(live, base);
    expect(child(next, 1, 'content')).toBe(child(base, 1, 'content'));
    expect(child(next, 2)).toBe(child(base, 2));
  });

  it('detects that only the order of keys changed', () => {
    const base = toDoc({ a: [1], b: [2] });
    const next = toDoc({ b: [2], a: [1] }, base);
    expect(Object.keys(next as object)).toEqual(['b', 'a']);
    expect(child(next, 'a')).toBe(child(base, 'a'));
  });

  it('ignores inherited keys of the base', () => {
    const value = JSON.parse('{"__proto__":{"a":1}}');
    const next = toDoc(value, parse('{"x":1}'));
    expect(Object.keys(next as object)).toEqual(['__proto__']);
    expect(toDoc(value, next)).toBe(next);
    expect(toDoc({ toString: undefined }, parse('{}'))).toEqual({ toString: { $: 'undefined' } });
  });

  it('neither freezes nor changes its input', () => {
    const value = stateOf(messages(0, 3));
    const doc = toDoc(value);
    expect(Object.isFrozen(value) || Object.isFrozen(value.list) || Object.isFrozen(value.list[0])).toBe(false);
    expectFrozen(doc);
  });

  it('returns the same document as without a base, for any two values', () => {
    fc.assert(
      fc.property(values, values, (value, other) => {
        const base = parse(JSON.stringify(toDoc(other)));
        const alone = toDoc(value);
        const against = toDoc(value, base);
        expect(JSON.stringify(against)).toBe(JSON.stringify(alone));
        expectFrozen(against);
        expect(toDoc(value, against)).toBe(against);
        expect(toDoc(decode(against), against)).toBe(against);
      }),
      runs,
    );
  });

  it('does not traverse known messages when one is appended', () => {
    const base = parse(JSON.stringify(messages(0, 10_000)));
    const next = [...(decode(base) as unknown[]), { id: 'new' }];
    const looked = vi.spyOn(Object, 'keys');
    const doc = toDoc(next, base);
    const count = looked.mock.calls.length;
    looked.mockRestore();
    expect(count).toBeLessThan(1000);
    expect(doc).toHaveLength(10_001);
  });

  it('encodes 100,000 keys in linear time', () => {
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`key${i}`, i]));
    const doc = toDoc(wide);
    expect(toDoc({ ...wide }, doc)).toBe(doc);
    expect(decode(parse(JSON.stringify(doc)))).toEqual(wide);
  });
});

describe('payloads', () => {
  class Handle {
    readonly ref: PayloadRef;
    constructor(ref: PayloadRef) {
      this.ref = ref;
    }
  }
  const ref = (id: string): PayloadRef => ({ id, sha256: 'sha', size: 3 });
  const options = {
    root: 'state',
    payload: (value: unknown) => (value instanceof Handle ? payloadDoc(value.ref) : undefined),
  };

  it('are kept by reference and found by id', () => {
    const full = { ...ref('b'), type: 'image/png', digest: 'd' };
    const state = {
      a: new Handle(ref('a')),
      list: [new Handle(full), new Handle(ref('a'))],
      map: new Map([[1, new Handle(ref('c'))]]),
    };
    const doc = encode(state, options);
    expect([...payloadRefs(doc).values()]).toEqual([ref('a'), full, ref('c')]);
    expect(decode(doc, { payload: (found) => new Handle(found) })).toEqual(state);
    expect(encode(state, { ...options, base: doc })).toBe(doc);
    expect(child(encode(new Handle({ ...ref('x'), digest: 'd' }), options), '$')).toEqual([
      'payload',
      'x',
      'sha',
      3,
      null,
      'd',
    ]);
  });

  it('are looked up for every object that is neither plain nor an array', () => {
    const [date, bytes] = [new Date(), new Uint8Array(1)];
    const map = new Map([['k', bytes]]);
    const calls: unknown[] = [];
    encode({ a: [{ b: date }], m: map }, { root: 's', payload: (value) => void calls.push(value) });
    expect(calls).toEqual([date, map, bytes]);
  });
});
