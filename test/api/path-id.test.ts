import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodePathId, encodePathId } from '../../lambda/http/path-id.ts';

const ODD = [
  'a/b',
  '.',
  '..',
  '...',
  '%2F',
  '%',
  '%zz',
  'ü',
  '😀',
  'a b',
  '~',
  '~YQ',
  'a?b#c',
  '\\',
  '"',
  ' ',
  '\u0000',
  '__proto__',
  'a+b',
  'x'.repeat(200),
];

/** A path after API Gateway, which decodes it once; the function behind it encodes it again. */
const throughGateway = (part: string): string => encodeURIComponent(decodeURIComponent(part));

describe('an id in a path', () => {
  it('survives a URL and a gateway that decodes', () => {
    for (const id of ODD) {
      const { pathname } = new URL(`http://x.test/runs/${encodePathId(id)}/end`);
      const [, , part = ''] = pathname.split('/');
      expect([decodePathId(part), decodePathId(throughGateway(part))]).toEqual([id, id]);
    }
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (id) => {
        fc.pre(id.isWellFormed());
        expect(encodePathId(id)).toMatch(/^~?[\w.~-]+$/);
        expect(decodePathId(throughGateway(encodePathId(id)))).toBe(id);
      }),
    );
  });

  it('stays unchanged without special characters', () => {
    for (const id of ['trip-42', 'key-AbC_9.x', '7', 'refund~2', 'refund~22']) expect(encodePathId(id)).toBe(id);
  });

  it('can be percent-encoded', () => {
    for (const id of ['a/b', 'ü', '%2F', 'a b', '100%']) expect(decodePathId(encodeURIComponent(id))).toBe(id);
  });

  it('is readable when escaped', () => {
    expect(encodePathId('trips[0]/refund')).toBe('~trips~5B0~5D~2Frefund');
    expect(decodePathId('~a~2fb')).toBe('a/b');
  });

  it.each(['', '~', '%', '%zz', '%ff', '~%', '~~', '~~2', '~~FF', '~a~2', '%7E'])('is rejected if it is %j', (part) => {
    expect(() => decodePathId(part)).toThrow(/An id in a path must be/);
  });
});
