import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode } from '../../lambda/checkpoints/document/decode.ts';
import type { Doc } from '../../lambda/checkpoints/document/document.ts';
import { encode } from '../../lambda/checkpoints/document/encode.ts';
import {
  appendPointer,
  parseTruncation,
  resolvePointer,
  truncateDocument,
} from '../../lambda/operator/truncated-document.ts';

const docOf = (value: unknown): Doc => encode(value, { root: 'state' });
const bytesOf = (doc: Doc): number => Buffer.byteLength(JSON.stringify(doc));
const values = fc.anything({
  withDate: true,
  withMap: true,
  withSet: true,
  withBigInt: true,
  maxDepth: 6,
  key: fc.oneof(fc.string(), fc.constant('$'), fc.constant('__proto__')),
});
const documents = fc
  .oneof(values, fc.array(fc.oneof(values, fc.string({ maxLength: 5000 })), { maxLength: 60 }))
  .chain((value) => {
    try {
      return fc.constant(docOf(value));
    } catch {
      return fc.constant(null);
    }
  });

describe('a truncated document', () => {
  it('is the whole document if that fits', () => {
    const doc = docOf({ a: [1, { b: 'text' }], when: new Date(0) });
    expect(truncateDocument(doc, '', 1000)).toEqual({ value: doc, isComplete: true });
    expect(truncateDocument(doc, '/a/1', 1000)).toEqual({ value: { b: 'text' }, isComplete: true });
  });

  it('has the first elements of a long list, and its length', () => {
    const { value, isComplete } =
      truncateDocument(docOf({ list: Array.from({ length: 5000 }, (_, i) => i) }), '', 500) ?? {};
    const cut = parseTruncation((value as { list: Doc }).list);
    expect([isComplete, cut?.kind, cut?.size]).toEqual([false, 'list', 5000]);
    expect(cut?.shown).toEqual(expect.arrayContaining([0, 1, 2]));
  });

  it('has complete small parts, and shares the remaining bytes among the large ones', () => {
    const doc = docOf({ long: 'x'.repeat(100_000), small: [1, 2, 3], other: 'y'.repeat(100_000), last: 'end' });
    const { value } = truncateDocument(doc, '', 4000) ?? {};
    const { small, last, long, other } = value as Record<string, Doc>;
    expect({ small, last }).toEqual({ small: [1, 2, 3], last: 'end' });
    for (const text of [long, other]) {
      expect(parseTruncation(text)).toMatchObject({ kind: 'text', size: 100_000 });
      expect(String(parseTruncation(text)?.shown).length).toBeGreaterThan(1500);
    }
  });

  it('has a few complete elements of a list instead of all of them truncated', () => {
    const list = Array.from({ length: 100 }, (_, i) => ({ role: 'user', text: `${i} ${'x'.repeat(150)}` }));
    const shown = parseTruncation(truncateDocument(docOf(list), '', 5000)?.value)?.shown as Doc[];
    expect(shown).toEqual(list.slice(0, shown.length));
    expect(shown.length).toBeGreaterThan(20);
  });

  it('continues where the previous one ended, up to the end', () => {
    const list = Array.from({ length: 700 }, (_, i) => `message ${i}`);
    const doc = docOf({ state: { messages: list } });
    const seen: unknown[] = [];
    while (seen.length < list.length) {
      const { value = null } = truncateDocument(doc, '/state/messages', 2000, { from: seen.length }) ?? {};
      const { shown } = parseTruncation(value) ?? { shown: value };
      expect((shown as Doc[]).length).toBeGreaterThan(0);
      seen.push(...(shown as Doc[]));
    }
    expect(seen).toEqual(list);
  });

  it('continues in texts and objects too', () => {
    const text = '😀ü'.repeat(3000);
    let seen = '';
    while (seen.length < text.length)
      seen += parseTruncation(truncateDocument(text, '', 999, { from: seen.length })?.value)?.shown;
    expect(seen).toBe(text);
    const fields = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`key ${i}`, i]));
    const all = {};
    while (Object.keys(all).length < 300) {
      const { value } = truncateDocument(docOf(fields), '', 1000, { from: Object.keys(all).length }) ?? {};
      Object.assign(all, parseTruncation(value)?.shown);
    }
    expect(all).toEqual(fields);
  });

  it('keeps the nodes for values that JSON lacks, with truncated content', () => {
    const map = new Map(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i]));
    const { value } = truncateDocument(docOf(map), '', 600) ?? {};
    const [tag, entries] = (value as { $: [string, Doc] }).$;
    expect([tag, parseTruncation(entries)?.size]).toEqual(['map', 1000]);
    const odd = docOf({ $: 'x'.repeat(5000), other: 1 });
    const { value: part } = truncateDocument(odd, '', 600) ?? {};
    expect(part).toEqual({ $: ['object', { $: { $: ['truncated', 'text', 5000, expect.any(String)] }, other: 1 }] });
    const many = docOf({ $: 1, ...Object.fromEntries(map) });
    expect(parseTruncation(truncateDocument(many, '', 600)?.value)).toMatchObject({
      kind: 'object',
      size: 1001,
      shown: { $: ['object', { $: 1 }] },
    });
  });

  it('is not accepted as a state', () => {
    const { value = null } = truncateDocument(docOf(['x'.repeat(9000)]), '', 500) ?? {};
    expect(() => decode(value)).toThrow(/unknown type "truncated"/);
  });

  it('starts at any JSON pointer, and is undefined where the pointer leads nowhere', () => {
    const keys = ['', 'a/b', 'm~n', '~1', '0', '__proto__', 'ü'];
    const doc = JSON.parse(`{${keys.map((key) => `${JSON.stringify(key)}:[7]`).join()}}`) as Doc;
    for (const key of keys) expect(resolvePointer(doc, `${appendPointer('', key)}/0`)).toBe(7);
    for (const nothing of ['/x', '/0/1', '/0/-', '/0/00', '/0/length', '/constructor', '/0/0/0', '/toString'])
      expect(truncateDocument(doc, nothing, 100)).toBeUndefined();
    expect(() => truncateDocument(doc, 'state', 100)).toThrow(/JSON pointer/);
    expect(() => truncateDocument(doc, '', 100, { from: -1 })).toThrow(/`from`/);
  });

  it('fits its budget for any document, and is whole only if it equals the document', () => {
    fc.assert(
      fc.property(documents, fc.integer({ min: 300, max: 20_000 }), (doc, budget) => {
        const { value = null, isComplete } = truncateDocument(doc, '', budget) ?? {};
        if (isComplete) expect(value).toEqual(doc);
        else expect(JSON.stringify(value)).toContain('{"$":["truncated",');
        expect(bytesOf(value)).toBeLessThanOrEqual(Math.max(budget, 1000) * 1.2);
        if (bytesOf(doc) <= budget) expect(isComplete).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  it('takes little time even with deep nesting or many keys', () => {
    const deep = JSON.parse(`${'['.repeat(900)}"x"${']'.repeat(900)}`) as Doc;
    expect(bytesOf(truncateDocument(deep, '', 300)?.value ?? null)).toBeLessThan(1000);
    const wide = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, i) => ['k'.repeat(50) + i, { [`${i}`]: ['y'.repeat(200)] }]),
    );
    expect(bytesOf(truncateDocument(wide, '', 100_000)?.value ?? null)).toBeLessThan(120_000);
  });
});
