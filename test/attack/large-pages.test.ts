import { describe, expect, it } from 'vitest';
import { showTruncated } from '../../lambda/console/document/show-document.ts';
import { conversation } from '../../lambda/console/run/conversation.ts';

// Lambda gives no answer above 6 MB, and the browser would get nothing but an error.
const MOST = 2_000_000;

describe('a page', () => {
  it.each([
    ['numbers', Array.from({ length: 150_000 }, () => 1)],
    ['empty lists', Array.from({ length: 100_000 }, () => [])],
    ['rows', Array.from({ length: 30_000 }, () => ({ a: 1, b: 2 }))],
    ['characters that cannot be seen', '\u202e'.repeat(150_000)],
    ['a field with a long name', { ['k\u0001'.repeat(300_000)]: 1 }],
  ])('has room for %s, or for as many as it says', { timeout: 30_000 }, (_, doc) => {
    const shown = String(showTruncated(doc, 1024 * 1024));
    expect(shown.length).toBeLessThan(MOST);
  });

  it('has room for a conversation, whatever was said', () => {
    const picture = { image: { format: 'png', source: { bytes: 'A'.repeat(300_000) } } };
    const list = Array.from({ length: 100 }, (_, i) => ({
      role: 'user',
      content: [{ text: `Look at this ${i}` }, picture],
    }));
    const shown = String(conversation({ pointer: '', list }, {}));
    expect(shown).toContain('Look at this 99');
    expect(shown.length).toBeLessThan(MOST);
    const long = Array.from({ length: 100 }, () => ({ role: 'assistant', text: 'word '.repeat(20_000) }));
    const words = String(conversation({ pointer: '', list: long }, {}));
    expect(words).toContain('not on this page');
    expect(words.length).toBeLessThan(MOST);
  });
});
