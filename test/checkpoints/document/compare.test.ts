import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compare } from '../../../lambda/checkpoints/document/compare.ts';
import { decode } from '../../../lambda/checkpoints/document/decode.ts';
import { parse } from '../../../lambda/checkpoints/document/parse.ts';
import { render, show } from '../../../lambda/checkpoints/document/render.ts';
import { runs, toDoc, values } from './values.ts';

const lines = (before: unknown, after: unknown) => render(compare(toDoc(before), toDoc(after))).split('\n');

describe('compare', () => {
  it('reports added, removed and changed values by leaf', () => {
    const before = { messages: [{ content: 'a' }, { content: 'b' }], gone: { x: 1 }, same: [1] };
    const after = { messages: [{ content: 'a' }, { content: 'c' }], same: [1], 'new key': [2] };
    expect(compare(toDoc(before), toDoc(after))).toEqual({
      added: [{ at: 2, path: '["new key"]', value: [2] }],
      removed: [{ at: 0, path: 'gone', value: { x: 1 } }],
      changed: [{ at: 1, path: 'messages[1].content', before: 'b', after: 'c' }],
    });
  });

  it('reports an insertion at the front as one addition', () => {
    const list = Array.from({ length: 50 }, (_, id) => ({ id }));
    expect(lines({ list }, { list: [{ id: 'new' }, ...list] })).toEqual(['+ list[0]  { id: "new" }']);
    expect(lines({ list }, { list: list.slice(2) })).toEqual(['- list[0]  { id: 0 }', '- list[1]  { id: 1 }']);
  });

  it('looks into maps, sets, classes and objects with $', () => {
    expect(
      lines(
        new Map([
          ['a', { x: 1 }],
          ['b', { x: 1 }],
        ]),
        new Map([
          ['b', { x: 2 }],
          ['c', { x: 1 }],
        ]),
      ),
    ).toEqual(
      ['- get("a")  { x: 1 }', '~ get("b").x  1 → 2', '+ get("c")  { x: 1 }'].map((line) =>
        line.replace(' get', ' .get'),
      ),
    );
    expect(lines({ s: new Set([1, 2]) }, { s: new Set([2, 3]) })).toEqual(['- s.value(0)  1', '+ s.value(1)  3']);
    expect(lines({ $: 1, a: 1 }, { $: 1, a: 2 })).toEqual(['~ a  1 → 2']);
  });

  it('reports changes of the root and of the order of keys', () => {
    expect(lines(1, 'a')).toEqual(['~ (root)  1 → "a"']);
    expect(lines({ o: { a: 1, b: 2 } }, { o: { b: 2, a: 1 } })).toEqual(['~ o  { a: 1, b: 2 } → { b: 2, a: 1 }']);
    expect(lines({ a: 1 }, { a: 1 })).toEqual(['(no difference)']);
  });

  it('maps values with the given function', () => {
    const { changed } = compare(toDoc({ d: new Date(1) }), toDoc({ d: new Date(2) }), (doc) => decode(doc));
    expect(changed).toEqual([{ at: 0, path: 'd', before: new Date(1), after: new Date(2) }]);
  });

  it('finds a difference exactly when there is one', () => {
    fc.assert(
      fc.property(values, values, values, (a, b, c) => {
        const [before, after] = [toDoc([a, { b }]), parse(JSON.stringify(toDoc([a, { b: c }])))];
        const same = JSON.stringify(before) === JSON.stringify(after);
        expect(render(compare(before, after)) === '(no difference)').toBe(same);
      }),
      runs,
    );
  });
});

describe('show', () => {
  it.each<[unknown, string]>([
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [new Date(Number.NaN), 'Invalid Date'],
    [new Map([[1, 2]]), 'Map(1)'],
    [new Set(), 'Set(0)'],
    [new Uint8Array(12), 'Uint8Array(12)'],
    [new Float64Array(2), 'Float64Array(2)'],
    [Buffer.from('abc'), 'Buffer(3)'],
    [12n, '12n'],
    [/a/g, '/a/g'],
    [undefined, 'undefined'],
    [new TypeError('bad'), 'TypeError: bad'],
    [{ a: [1, 'x', null], 'b c': {} }, '{ a: [1, "x", null], "b c": {} }'],
    [{ $: 1 }, '{ $: 1 }'],
  ])('formats %o as %s', (value, text) => {
    expect(show(toDoc(value))).toBe(text);
  });

  it('truncates long values without reading all of them', () => {
    expect(show(parse(JSON.stringify(Array(100_000).fill('word'))))).toHaveLength(80);
    expect(show('x'.repeat(1e6))).toHaveLength(80);
    expect(show({ $: ['date', 1e99] })).toBe('Invalid Date');
  });
});
