import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { decode } from '../../../lambda/checkpoints/document/decode.ts';
import { diff } from '../../../lambda/checkpoints/document/diff.ts';
import type { Doc } from '../../../lambda/checkpoints/document/document.ts';
import type { Op } from '../../../lambda/checkpoints/document/op.ts';
import { parse } from '../../../lambda/checkpoints/document/parse.ts';
import { apply } from '../../../lambda/checkpoints/document/patch.ts';
import { isWaitstateError } from '../../../lambda/core/errors.ts';
import { documentPairs, runs, toDoc, values } from './values.ts';

const copy = (doc: unknown): Doc => parse(JSON.stringify(doc));
const length = (value: unknown): number => JSON.stringify(value).length;

/** Checks that the patch turns `before` into `after`, and returns its length. */
function patchLength(before: Doc, after: Doc): number {
  const text = JSON.stringify(before);
  const ops = copy(diff(before, after)) as unknown as Op[];
  expect(JSON.stringify(apply(before, ops))).toBe(JSON.stringify(after));
  expect(JSON.stringify(before)).toBe(text);
  return length(ops);
}

const messages: { id: number | string; role: string; content: string }[] = Array.from({ length: 200 }, (_, id) => ({
  id,
  role: 'user',
  content: `This is what message ${id} says.`,
}));
const added = { id: 'new', role: 'assistant', content: 'Fine.' };
const state = (list: unknown[]) => ({ title: 't', messages: list, when: new Date(1) });

describe('a patch', () => {
  const base = toDoc(state(messages));
  it.each<[string, unknown[], number]>([
    ['no change', messages, 2],
    ['an append', [...messages, added], length(added) + 40],
    ['a removal from the front', messages.slice(20), 40],
    ['a removal from the front and an append', [...messages.slice(2), added, added], 2 * length(added) + 80],
    ['an edit in place', messages.with(100, { id: 100, role: 'tool', content: 'This is what message 100 says.' }), 50],
    [
      'an edit and an append',
      [...messages.with(7, { id: 7, role: 'tool', content: 'This is what message 7 says.' }), added],
      length(added) + 90,
    ],
    ['an insertion', messages.toSpliced(50, 0, added), length(added) + 40],
    ['two insertions', messages.toSpliced(150, 0, added).toSpliced(50, 0, added), 2 * (length(added) + 40)],
    [
      'a summary in place of many messages',
      [messages[0], added, ...messages.slice(60), added],
      2 * (length(added) + 60),
    ],
    ['three replaced neighbors', (messages as unknown[]).toSpliced(3, 3, 1, 2, 3), 50],
  ])('is about as long as the change for %s', (_, list, limit) => {
    const next = toDoc(state(structuredClone(list)), base);
    expect(patchLength(base, next)).toBeLessThanOrEqual(limit);
    expect(patchLength(base, copy(next))).toBeLessThanOrEqual(length(next) + 60);
  });

  it('is short for an append between documents that share no objects', () => {
    expect(patchLength(copy(base), copy(toDoc(state([...messages, added]))))).toBeLessThan(length(added) + 40);
  });

  it('is short for text that is added at the end, at the front or inside a string', () => {
    const text = 'All work and no play makes a dull boy. '.repeat(20);
    for (const next of [`${text}more`, `more${text}`, `${text.slice(0, 300)}more${text.slice(310)}`])
      expect(patchLength(copy({ a: { text } }), copy({ a: { text: next } }))).toBeLessThan(40);
  });

  it('is short for a map and a set that grow', () => {
    const map = new Map<string, unknown>(messages.map((message) => [`k${message.id}`, message]));
    const before = toDoc({ map, set: new Set(map.keys()) });
    const after = toDoc({ map: new Map([...map, ['new', added]]), set: new Set([...map.keys(), 'new']) }, before);
    expect(patchLength(before, after)).toBeLessThan(length(added) + 100);
  });

  it('is short for a new key, a removed key and an index among the keys', () => {
    const before = copy({ keep: messages, gone: 1, byId: { 5: 'e', name: 'n' } });
    const after = copy({ keep: messages, byId: { 3: 'c', 5: 'e', name: 'n' }, fresh: 2 });
    expect(diff(before, after)).toEqual([[['gone']], [['byId', '3'], 'c'], [['fresh'], 2]]);
    expect(patchLength(before, after)).toBeLessThan(60);
  });

  it('is never much longer than the whole document', () => {
    const before = copy(Object.fromEntries(messages.map((_, i) => [`long key number ${i}`, { a: { b: { c: i } } }])));
    const after = copy(
      Object.fromEntries(messages.map((_, i) => [`long key number ${i}`, { a: { b: { c: i + 1 } } }])),
    );
    expect(patchLength(before, after)).toBeLessThan(length(after) + 30);
    expect(patchLength(before, copy({}))).toBeLessThan(20);
    expect(patchLength(copy([...Array(500).keys()]), copy([...Array(500).keys()].reverse()))).toBeLessThan(2200);
  });
});

describe('diff', () => {
  it('treats the order of keys as data', () => {
    expect(patchLength(copy({ a: 1, b: 2 }), copy({ b: 2, a: 1 }))).toBeGreaterThan(2);
    expect(patchLength(copy({ a: 1, c: 2 }), copy({ a: 1, b: 3, c: 2 }))).toBeGreaterThan(2);
  });

  it('never splits a surrogate pair', () => {
    const text = 'x'.repeat(60);
    const ops = diff(`${text}😀${text}`, `${text}😁${text}`);
    expect(ops).toEqual([[[], 60, 2, '😁']]);
    expect(diff(`${text}\u{1F600}${text}`, `${text}\u{1F200}${text}`)).toEqual([[[], 60, 2, '\u{1F200}']]);
    expect(diff(`${text}\u{1F600}${text}`, `${text}\u{2F600}${text}`)).toEqual([[[], 60, 2, '\u{2F600}']]);
  });

  it('treats hostile keys as data', () => {
    const before = parse('{"a":1,"constructor":{"x":1}}');
    const after = parse('{"a":1,"constructor":{"x":2},"__proto__":{"y":1}}');
    patchLength(before, after);
    patchLength(after, before);
    patchLength(after, parse('{"a":1,"constructor":{"x":2},"__proto__":{"y":2}}'));
    expect(Object.getPrototypeOf(apply(before, diff(before, after)))).toBe(Object.prototype);
  });

  it('sets the root when its type changed', () => {
    expect(diff([1], { a: 1 })).toEqual([[[], { a: 1 }]]);
    expect(apply([1], [[[], null]])).toBe(null);
  });

  it('creates patches from any document to any other', () => {
    fc.assert(
      fc.property(values, values, (a, b) => void patchLength(copy(toDoc(a)), copy(toDoc(b)))),
      runs,
    );
  });

  it('creates patches to documents that reuse parts of any other', () => {
    fc.assert(
      fc.property(values, values, values, (a, b, c) => {
        const before = copy(toDoc([a, b, { a, c }]));
        patchLength(before, toDoc([c, ...(decode(before) as unknown[]), a], before));
        patchLength(before, toDoc((decode(before, { mutable: true }) as unknown[]).slice(1), before));
      }),
      runs,
    );
  });

  it('creates patches to an edited document that are never much longer than that document', () => {
    fc.assert(
      fc.property(documentPairs, ([before, after]) => {
        expect(patchLength(before, after)).toBeLessThan(length(after) * 1.1 + 60);
      }),
      runs,
    );
  });
});

describe('apply', () => {
  it('reuses unchanged parts and freezes new ones', () => {
    const before = parse('{"a":{"x":[1]},"b":{"y":[2]},"c":"cc"}') as Record<string, Doc>;
    const after = apply(before, [
      [['b', 'z'], { n: [1] }],
      [['c'], 1, 1, 'd'],
    ]) as Record<string, Record<string, Doc>>;
    expect(after).toEqual({ a: { x: [1] }, b: { y: [2], z: { n: [1] } }, c: 'cd' });
    expect(after.a).toBe(before.a);
    expect([after, after.b, after.b?.z].every(Object.isFrozen)).toBe(true);
    expect(decode(after)).toBe(after);
    expect(before).toEqual({ a: { x: [1] }, b: { y: [2] }, c: 'cc' });
    expect(apply(before, [])).toBe(before);
  });

  it('does not change the value of an operation when applying a later one', () => {
    const value = { list: [1] };
    const ops: Op[] = [
      [['a'], value],
      [['a', 'list'], 1, 0, [2]],
      [['b'], value],
    ];
    expect(apply({}, ops)).toEqual({ a: { list: [1, 2] }, b: { list: [1] } });
    expect(value).toEqual({ list: [1] });
  });

  it('copies a long list once for many operations', () => {
    const before = copy({ list: Array.from({ length: 10_000 }, (_, i) => ({ i })) });
    const ops = Array.from({ length: 500 }, (_, i): Op => [['list'], 10_000 + i, 0, [{ i }]]);
    const copied = vi.spyOn(Array.prototype, 'slice');
    const after = apply(before, ops) as { list: unknown[] };
    const long = copied.mock.results.filter(({ value }) => (value as unknown[]).length >= 10_000).length;
    copied.mockRestore();
    expect(long).toBeLessThanOrEqual(1);
    expect(after.list).toHaveLength(10_500);
  });

  it('splices more elements than a call can have arguments', () => {
    const many = Array.from({ length: 200_000 }, (_, i) => i);
    expect(apply([1, 2, 3], [[[], 1, 1, many]])).toEqual([1, ...many, 3]);
  });

  it.each<[string, unknown]>([
    ['a path that does not exist', [['x', 'y'], 1]],
    ['a path into a string', [['text', 'y'], 1]],
    ['a path through a prototype', [['__proto__', 'y'], 1]],
    ['an index out of range', [['list', 3], 1]],
    ['a list index that is text', [['list', 'length'], 1]],
    ['a negative index', [['list', -1], 1]],
    ['the removal of an element without a splice', [['list', 0]]],
    ['the removal of a missing key', [['x']]],
    ['the removal of the root', [[]]],
    ['a number as the key of an object', [[1], 1]],
    ['a splice beyond the end', [['list'], 4, 0, [1]]],
    ['a splice that removes more than there is', [['list'], 2, 2, []]],
    ['a splice of text into a list', [['list'], 0, 0, 'a']],
    ['a splice of a list into text', [['text'], 0, 0, ['a']]],
    ['a splice into a number', [['n'], 0, 0, '']],
    ['a splice at a fractional index', [['text'], 0.5, 0, '']],
    ['an operation of an unknown length', [['n'], 1, 2]],
    ['an empty operation', []],
    ['null as an operation', null],
    ['a path that is not a list', ['n', 1]],
  ])('reports %s as damage', (_, op) => {
    const doc = copy({ list: [1, 2, 3], text: 'abc', n: 1 });
    expect(() => apply(doc, [op as Op])).toThrow(expect.objectContaining({ code: 'DAMAGED' }));
    expect(isWaitstateError(new Error('x'))).toBe(false);
  });
});
