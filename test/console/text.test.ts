import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { html } from '../../lambda/console/markup.ts';
import { escapeHiddenJson, plainText, revealHidden, userText } from '../../lambda/console/text.ts';
import { textOf, wellFormed } from './well-formed.ts';

const shown = (stored: string): string => textOf(String(html`${revealHidden(stored)}`));

describe('stored text', () => {
  it('shows direction marks as code points', () => {
    expect(shown('invoice\u202Efdp.exe')).toBe('invoice U+202E fdp.exe');
    for (const mark of ['\u202A', '\u202B', '\u202D', '\u2066', '\u2069', '\u200E', '\u200F', '\u061C'])
      expect(shown(`a${mark}b`)).toMatch(/^a U\+[0-9A-F]{4} b$/);
    expect(String(userText('x'))).toBe('<bdi>x</bdi>');
  });

  it('shows invisible characters as code points', () => {
    for (const hidden of [
      '\0',
      '\u0007',
      '\u001B',
      '\u007F',
      '\u0085',
      '\u00AD',
      '\u200B',
      '\u2060',
      '\uFEFF',
      '\u2028',
      '\u3164',
      '\u{E0041}',
      '\uD800',
      '\r',
    ])
      expect(shown(`a${hidden}b`)).toMatch(/^a U\+[0-9A-F]{4,5} b$/);
  });

  it('shows combining marks beyond the fourth on a letter', () => {
    expect(shown(`e${'\u0301'.repeat(7)}`).match(/U\+0301/g)).toHaveLength(3);
  });

  it('keeps line breaks, tabs, joined emoji, and joiners in scripts that need them', () => {
    for (const fine of ['a\nb\tc\r\nd', '👩‍💻 ❤️', 'می‌خواهم', 'é ü e\u0301 日本語', 'क्‍ष'])
      expect(revealHidden(fine).join('')).toBe(fine);
  });

  it('shows code points in plain text too', () => {
    expect(plainText('a\u202Eb\u0000')).toBe('a[U+202E]b[U+0000]');
  });

  it('escapes invisible characters in JSON without changing its value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const json = escapeHiddenJson(JSON.stringify({ value }));
        expect(JSON.parse(json)).toEqual({ value });
        expect(plainText(json)).toBe(json);
      }),
    );
    expect(escapeHiddenJson('"\u202E\u{E0041}"')).toBe('"\\u202e\\udb40\\udc41"');
  });

  it('is never markup', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const elements = wellFormed(String(html`<p title="${plainText(value)}">${userText(value)}</p>`));
        for (const { tag } of elements) expect(['p', 'bdi', 'span']).toContain(tag);
      }),
    );
  });
});
