import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findJsonError, formatJsonError } from '../../lambda/core/json-error-position.ts';

const errorOf = (text: string): string => {
  const mistake = findJsonError(text);
  return mistake ? formatJsonError(mistake) : 'fine';
};

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('the position of a JSON error', () => {
  it.each([
    ['{\n  "price": 1400,\n  "seat": \'4A\'\n}', 'Line 3, column 11: strings need double quotes'],
    ['{"a": 1,}', 'Line 1, column 8: trailing comma before }'],
    ['[1,\n2\n3]', 'Line 3, column 1: expected a comma or ]; found 3'],
    ['{"a" 1}', 'Line 1, column 6: expected a colon after the field name'],
    ['{a: 1}', 'Line 1, column 2: expected a field name in double quotes'],
    ['{"a": 1', 'Line 1, column 8: expected a comma or }; found the end of the text'],
    ['{"a": [', 'Line 1, column 8: unexpected end of the text'],
    ['"a\nb"', 'Line 1, column 3: a string cannot span several lines; write \\n for a line break'],
    ['["ab', 'Line 1, column 2: the string that starts here has no closing quote'],
    ['"\\x"', 'Line 1, column 2: unknown escape sequence; write \\\\ for a backslash'],
    ['// no\n1', 'Line 1, column 1: comments are not allowed in JSON'],
    ['1 2', 'Line 1, column 3: unexpected text after the end of the value'],
    ['  ', 'Line 1, column 3: the text is empty'],
    ['[\u00A01]', expect.stringContaining('found U+00A0')],
  ])('is reported for %j', (text, expected) => {
    expect(errorOf(text)).toEqual(expected);
  });

  it('is that of a duplicate field, which JSON.parse would silently drop', () => {
    expect(errorOf('{"a": 1, "b": {"a": 2}, "a": 3}')).toBe('Line 1, column 25: duplicate field "a"');
  });

  it('is reported for too deep nesting instead of a stack overflow', () => {
    expect(errorOf('['.repeat(100_000))).toMatch(/deeper than 1000 levels/);
  });

  it('is undefined for all valid JSON', () => {
    fc.assert(
      fc.property(fc.json(), fc.integer({ min: 0, max: 4 }), (json, indent) => {
        expect(errorOf(json)).toBe('fine');
        expect(errorOf(JSON.stringify(JSON.parse(json), undefined, indent))).toBe('fine');
      }),
    );
  });

  it('is found exactly for the texts that JSON.parse rejects', () => {
    const damaged = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', ',', '"', '}', ']', ':', '\n', 'x', '\\', '0', '\u0001'))
      .map(([json, at, put]) => json.slice(0, at % (json.length + 1)) + put + json.slice((at % (json.length + 1)) + 1));
    fc.assert(
      fc.property(damaged, (text) => {
        const mistake = findJsonError(text);
        if (mistake?.problem.includes('duplicate field')) return;
        expect(mistake === undefined, text).toBe(isJson(text));
        if (!mistake) return;
        const line = text.split('\n')[mistake.line - 1];
        expect(mistake.column).toBeGreaterThan(0);
        expect(mistake.column).toBeLessThanOrEqual((line?.length ?? -1) + 1);
      }),
      { numRuns: 500 },
    );
  });
});
