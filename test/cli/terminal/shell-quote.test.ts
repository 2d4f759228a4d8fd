import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { hasNoControls } from '../../../cli/terminal/escape-controls.ts';
import { shellQuote } from '../../../cli/terminal/shell-quote.ts';

describe('a quoted word', () => {
  it.each([
    'trip-42',
    'user:ann',
    'book~2',
    '~',
    '~root/x',
    '',
    'two words',
    `it's "quoted"`,
    '$(touch /tmp/x) `id` ; rm *',
    'a\\b',
    'a\u001b[2J\nb',
    "a\u001b'b\\c",
    'Grüße 東京',
    '-rf',
    '\u202eabc',
  ])('has the same value in bash as the text %j', (word) => {
    const quoted = shellQuote(word);
    expect(hasNoControls(quoted)).toBe(true);
    expect(execFileSync('bash', ['-c', `printf %s ${quoted}`]).toString()).toBe(word);
  });
});
