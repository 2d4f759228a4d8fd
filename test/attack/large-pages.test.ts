import { describe, expect, it } from 'vitest';
import { showTruncated } from '../../lambda/console/document/show-document.ts';
import { conversation } from '../../lambda/console/run/conversation.ts';

// Far below the 6 MB that Lambda can return; above that, the browser gets an error.
const MAX_LENGTH = 2_000_000;

describe('a console page', () => {
  it.each([
    ['many numbers', Array.from({ length: 150_000 }, () => 1)],
    ['many empty lists', Array.from({ length: 100_000 }, () => [])],
    ['many rows', Array.from({ length: 30_000 }, () => ({ a: 1, b: 2 }))],
    ['many invisible characters', '\u202e'.repeat(150_000)],
    ['a field with a long name', { ['k\u0001'.repeat(300_000)]: 1 }],
  ])('stays below its size limit when it shows %s', { timeout: 30_000 }, (_, doc) => {
    const shown = String(showTruncated(doc, 1024 * 1024));
    expect(shown.length).toBeLessThan(MAX_LENGTH);
  });

  it('stays below its size limit when it shows a conversation with large or many messages', () => {
    const picture = { image: { format: 'png', source: { bytes: 'A'.repeat(300_000) } } };
    const list = Array.from({ length: 100 }, (_, i) => ({
      role: 'user',
      content: [{ text: `Look at this ${i}` }, picture],
    }));
    const shown = String(conversation({ pointer: '', list }, {}));
    expect(shown).toContain('Look at this 99');
    expect(shown.length).toBeLessThan(MAX_LENGTH);
    const long = Array.from({ length: 100 }, () => ({ role: 'assistant', text: 'word '.repeat(20_000) }));
    const words = String(conversation({ pointer: '', list: long }, {}));
    expect(words).toContain('not shown on this page');
    expect(words.length).toBeLessThan(MAX_LENGTH);
  });
});
