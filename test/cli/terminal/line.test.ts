import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { escapeControls } from '../../../cli/terminal/escape-controls.ts';
import { jsonLines, jsonText } from '../../../cli/terminal/json-text.ts';
import {
  bold,
  dim,
  type Line,
  lineWidth,
  pad,
  render,
  styled,
  truncate,
  wrapText,
} from '../../../cli/terminal/line.ts';
import { wrapLine } from '../../../cli/terminal/wrap-line.ts';

const text = (line: Line): string => render(line, (_, plain) => plain);

const HOSTILE = [
  ['an escape sequence', 'a\u001b[2Jb', 'a\\u001b[2Jb'],
  ['a C1 control character', 'a\u009b31mb', 'a\\u009b31mb'],
  ['a sequence that sets the window title', '\u001b]0;gone\u0007', '\\u001b]0;gone\\u0007'],
  ['a backspace and a delete character', 'a\b\u007f', 'a\\u0008\\u007f'],
  ['line breaks and tabs', 'a\nb\r\tc', 'a\\nb\\r\\tc'],
  ['characters that reverse the text direction', 'a\u202eb\u2066c', 'a\\u202eb\\u2066c'],
  ['invisible characters', 'a\u200bb\ufeffc\u{e0041}', 'a\\u200bb\\ufeffc\\udb40\\udc41'],
  ['Unicode line separators', 'a\u2028b\u2029', 'a\\u2028b\\u2029'],
  ['an unpaired surrogate', 'a\ud83db', 'a\\ud83db'],
] as const;

describe('stored text', () => {
  it.each(HOSTILE)('cannot control a terminal if it contains %s', (_, given, shown) => {
    expect(escapeControls(given)).toBe(shown);
    expect(text([bold(given), ' ', given])).toBe(`${shown} ${shown}`);
    expect(text(truncate(given, 200))).toBe(shown);
    expect(wrapText(given.replaceAll('\n', ''), 80).join('')).toBe(shown.replace('\\n', ''));
  });

  it.each(HOSTILE)('keeps its value in escaped JSON if it contains %s', (_, given) => {
    expect(escapeControls(jsonText({ given }))).toBe(jsonText({ given }));
    expect(JSON.parse(jsonText({ given }))).toEqual({ given });
    expect(JSON.parse(jsonLines({ given }).join('\n'))).toEqual({ given });
  });

  it('keeps letters, emoji and joiners unchanged', () => {
    const kept = 'Grüße, 東京, العربية, 👩‍👩‍👧, e\u0301';
    expect(escapeControls(kept)).toBe(kept);
  });
});

describe('a line', () => {
  it.each([
    ['plain text is truncated with an ellipsis', 'abcdefghij', 5, 'abcd…'],
    ['wide characters take two columns', '東京東京', 5, '東京…'],
    ['a wide character is never halved', '東京東京', 4, '東…'],
    ['an emoji of several code points stays whole', 'a👩‍👩‍👧bcd', 4, 'a👩‍👩‍👧…'],
    ['text that fits stays unchanged', 'abc', 3, 'abc'],
    ['nothing is left without columns', 'abc', 0, ''],
    ['only the ellipsis is left in one column', 'abc', 1, '…'],
  ])('fits the given number of columns, and %s', (_, given, columns, expected) => {
    expect(text(truncate(given, columns))).toBe(expected);
    expect(stringWidth(text(truncate(given, columns)))).toBeLessThanOrEqual(columns);
  });

  it('is truncated across spans, and keeps their styles', () => {
    const cut = truncate([bold('abc'), dim('defgh')], 6);
    expect(cut).toEqual([bold('abc'), dim('de…')]);
  });

  it('is measured with its characters escaped', () => {
    expect(lineWidth([bold('東京'), 'a\u001b'])).toBe(4 + 1 + 6);
    expect(text(pad('東', 4))).toBe('東  ');
    expect(text(pad('東', 4, 'right'))).toBe('  東');
  });

  it('wraps between words, keeps its indentation, and splits words that are longer than a line', () => {
    expect(wrapText('one two three', 9)).toEqual(['one two', 'three']);
    expect(wrapText('  "shown": "0123456789abcdef"', 14)).toEqual(['  "shown":', '  "0123456789a', '  bcdef"']);
    expect(wrapText('a\nb', 9)).toEqual(['a', 'b']);
    expect(wrapText('語'.repeat(5), 8)).toEqual(['語語語語', '語']);
  });

  it('wraps with its styles', () => {
    const lines = wrapLine([styled('green', '✓ '), 'Emptied 5 checkpoints of ', bold('trip-42')], 20);
    expect(lines.map(text)).toEqual(['✓ Emptied 5', '  checkpoints of', '  trip-42']);
    expect(lines.at(-1)).toContainEqual(bold('trip-42'));
  });
});
