import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { escapeId, parsePartition, toPartition } from '../../lambda/core/ids.ts';

const runs = { seed: 42, numRuns: 500 };
// Short, of few characters that matter, so that equal and almost equal ids are often drawn; and any text.
const ids = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', '/', '%', '2', 'F', '.', '~', 'ü'), minLength: 1, maxLength: 4 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 10 }),
);

describe('the key of a run', () => {
  test('is never the same for two pairs of ids', () => {
    fc.assert(
      fc.property(ids, ids, ids, ids, (tenant, run, otherTenant, otherRun) => {
        const same = tenant === otherTenant && run === otherRun;
        return (toPartition(tenant, run) === toPartition(otherTenant, otherRun)) === same;
      }),
      runs,
    );
  });

  test('decodes to the original ids', () => {
    fc.assert(
      fc.property(ids, ids, (tenant, run) => {
        expect(parsePartition(toPartition(tenant, run))).toEqual({ tenant, run });
      }),
      runs,
    );
  });

  test('is printable ASCII with one slash', () => {
    fc.assert(
      fc.property(ids, ids, (tenant, run) => /^[A-Za-z0-9._~%-]+\/[A-Za-z0-9._~%-]+$/.test(toPartition(tenant, run))),
      runs,
    );
  });
});

describe('an id', () => {
  test.each([
    ['plain-Id_1.2~3', 'plain-Id_1.2~3'],
    ['a/b', 'a%2Fb'],
    ['a%2Fb', 'a%252Fb'],
    ["!'()*", '%21%27%28%29%2A'],
    ['ü', '%C3%BC'],
    ['\u0000', '%00'],
  ])('is escaped as $1 if it is $0', (id, escaped) => expect(escapeId('run', id)).toBe(escaped));

  test('can have at most 256 bytes after escaping', () => {
    expect(escapeId('run', 'x'.repeat(256))).toHaveLength(256);
    expect(escapeId('run', 'ü'.repeat(42))).toHaveLength(252);
    for (const id of ['x'.repeat(257), 'ü'.repeat(43), '/'.repeat(86)]) {
      expect(() => escapeId('run', id)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    }
  });

  test.each(['', '\ud800', 'a\udfff', undefined, null, 0, {}, ['a']])('cannot be %j', (id) => {
    expect(() => escapeId('owner', id)).toThrow(/^The owner id must be/);
  });
});
