import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adopt, type Doc } from '../../lambda/checkpoints/document/document.ts';
import { encode } from '../../lambda/checkpoints/document/encode.ts';
import { showDocument } from '../../lambda/console/document/show-document.ts';
import type { ShowOptions } from '../../lambda/console/document/show-options.ts';
import { isCode, isDiff, isUrl } from '../../lambda/console/document/show-text.ts';
import { truncateDocument } from '../../lambda/operator/truncated-document.ts';
import { textOf, wellFormed } from './well-formed.ts';

const SHOWING: ShowOptions = {
  payloadUrl: (id) => `/payloads/${encodeURIComponent(id)}`,
  partUrl: (at, from) => `/piece?${new URLSearchParams({ at, from: String(from) })}`,
};

const shown = (doc: unknown): string => {
  const page = String(showDocument(adopt(doc as Doc), SHOWING));
  wellFormed(page);
  return page;
};

const read = (doc: unknown): string => textOf(shown(doc)).trim();

describe('a document on a page', () => {
  it('shows objects as field lists, lists as lists, and lists of similar objects as tables', () => {
    expect(shown({ name: 'Ann', seats: ['4A', '4B'] })).toMatch(/<dl class="fields">.*<ol class="items" start="1">/s);
    const table = shown([
      { flight: 'HP 1', price: 10 },
      { flight: 'HP 2', price: 20, note: 'late' },
    ]);
    expect(table.match(/<th role="columnheader"/g)).toHaveLength(3);
    expect(table.match(/<tr role="row">/g)).toHaveLength(3);
    expect(shown([{ a: 1 }, { b: { c: 2 } }])).not.toContain('<table');
  });

  it('keeps line breaks of text, and shows code and diffs as such', () => {
    expect(shown('one\n\n  two')).toContain('<div class="text" dir="auto">one\n\n  two</div>');
    const diff = shown('--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new');
    expect(diff).toContain('<span class="removed">-old\n</span>');
    expect(diff).toContain('<span class="added">+new\n</span>');
    expect(shown('const a = 1;\nif (a) {\n  b();\n}')).toContain('<pre class="code"');
    const mixed = shown('Do this:\n```sh\nrm -rf /\n```\nand that.');
    expect(mixed).toMatch(/<div class="text"[^>]*>Do this:\n<\/div><pre class="code"[^>]*><code>```sh\nrm -rf \/\n```/);
    expect([isCode('Dear Ann,\nthe fare went up.\nBob'), isDiff('- milk\n+ bread')]).toEqual([false, false]);
  });

  it('shows values of types that JSON lacks', () => {
    const values = {
      when: new Date(Date.UTC(2026, 4, 1, 10)),
      never: new Date(Number.NaN),
      nothing: undefined,
      many: 12345678901234567890n,
      map: new Map([['seat', '4A']]),
      set: new Set(['a']),
      pattern: /a+/g,
      page: new URL('https://example.com/x?y=1'),
      bytes: Uint8Array.from([104, 105]),
      error: Object.assign(new RangeError('too far'), { code: 'E_FAR' }),
      odd: -0,
      $: 'a field of this name',
    };
    const text = textOf(String(showDocument(encode(values, { root: 'show' }), SHOWING)));
    for (const part of [
      '1 May 2026, 10:00 UTC',
      'Invalid Date',
      'undefined',
      '12345678901234567890',
      'Map',
      'seat',
      '4A',
    ])
      expect(text).toContain(part);
    for (const part of [
      'Set',
      '/a+/g',
      'https://example.com/x?y=1',
      'Uint8Array',
      '2 bytes',
      '68 69',
      'RangeError',
      'too far',
    ])
      expect(text).toContain(part);
    for (const part of ['E_FAR', '-0', 'a field of this name']) expect(text).toContain(part);
  });

  it('shows class instances, and objects that occur twice', () => {
    expect(read({ $: ['class', 'Money', { cents: 5 }] })).toBe('Money cents 5');
    expect(read([{ $: ['shared', 1, { a: 1 }] }, { $: ['ref', 1] }])).toBe('object 1 a 1 (object 1 again)');
  });

  it('shows safe images inline, and offers other payloads as downloads', () => {
    const payload = (type: string | null) => ({ $: ['payload', 'p"1', 'hash', 2048, type, 'a "seat"'] });
    expect(shown(payload('image/png'))).toContain('<img src="/payloads/p%221" alt="a &quot;seat&quot;"');
    for (const type of ['image/svg+xml', 'text/html', 'image/png<script>', null]) {
      expect(shown(payload(type))).not.toContain('<img');
      expect(shown(payload(type))).toContain('href="/payloads/p%221" download');
    }
    expect(String(showDocument(adopt(payload('image/png') as Doc)))).not.toContain('<img');
  });

  it('links only URLs whose host is unambiguous', () => {
    expect(shown('https://example.com/a?b=c')).toContain('<a href="https://example.com/a?b=c" rel="noreferrer');
    const others = [
      'javascript:alert(1)',
      'https://bank.test@evil.test/',
      'data:text/html,x',
      ' https://x.test',
      'https://',
    ];
    for (const other of [...others, '//evil.test', 'https://a.test\\@b.test', 'ftp://x.test']) {
      expect(isUrl(other), other).toBe(false);
      expect(shown(other)).not.toContain('<a ');
      expect(shown({ $: ['url', other] })).not.toContain('<a ');
    }
  });

  it('shows damaged and unknown nodes as written', () => {
    for (const node of [
      ['map', 1],
      ['payload'],
      ['hologram', 'x'],
      [],
      7,
      ['date', 'x'],
      ['set'],
      ['object'],
      ['error'],
    ])
      expect(() => shown({ $: node })).not.toThrow();
    expect(read({ $: ['hologram', '<b>'] })).toContain('{"$":["hologram","<b>"]}');
  });

  it('escapes objects that resemble its own markup', () => {
    const forged = { isEscaped: true, callbacks: [], toString: '<script>alert(1)</script>' };
    expect(read(forged)).toContain('<script>alert(1)</script>');
    expect(read([forged, forged])).toContain('isEscaped');
  });

  it('is well-formed for any document, and contains all of its text', () => {
    const hostile = fc.constantFrom(
      ...[
        '</textarea><script>alert(1)</script>',
        '"><img src=x onerror=alert(1)>',
        "' onfocus='x",
        '<!--',
        ']]>',
        '&lt;',
        '\u202Eevil',
        '{{2}}',
      ],
    );
    const { doc } = fc.letrec<{ doc: Doc }>((tie) => ({
      doc: fc.oneof(
        { maxDepth: 4 },
        hostile,
        fc.string({ unit: 'binary' }),
        fc.double(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('doc'), { maxLength: 5 }),
        fc.dictionary(fc.oneof(hostile, fc.string()), tie('doc'), { maxKeys: 5 }),
        fc
          .tuple(
            fc.constantFrom('map', 'set', 'class', 'error', 'object', 'shared', 'truncated', 'bytes', 'date'),
            tie('doc'),
            tie('doc'),
          )
          .map((node) => ({ $: node })),
      ),
    }));
    fc.assert(
      fc.property(doc, (value) => {
        shown(value);
      }),
      { numRuns: 150 },
    );
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 40 }), (list) => {
        const text = read({ list });
        for (const each of list) expect(text.replaceAll(/ U\+202E /g, '\u202E')).toContain(each);
      }),
    );
  });

  it('renders very deep and very long documents', () => {
    let deep: unknown = 'bottom';
    for (let i = 0; i < 600; i++) deep = i % 3 === 0 ? { $: ['class', 'C', deep] } : i % 3 === 1 ? [deep] : { deep };
    expect(read(deep)).toContain('bottom');
    const long = read(Array.from({ length: 3000 }, (_, i) => `item ${i}`));
    expect(long).toContain('2,950 more items');
    expect(long).toContain('item 2999');
  });
});

describe('a document on several pages', () => {
  /** Follows every link to more, and returns the whole text. */
  function everything(doc: Doc, budget: number): string {
    let text = '';
    const queue = [{ at: '', from: 0 }];
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { at, from } = next;
      const piece = truncateDocument(doc, at, budget, { from });
      expect(piece, `${at} from ${from}`).toBeDefined();
      const page = String(showDocument(piece?.value ?? null, SHOWING, { pointer: at, level: 0, from }));
      wellFormed(page);
      text += ` ${textOf(page)}`;
      for (const [, url = ''] of page.matchAll(/href="(\/piece\?[^"]*)"/g)) {
        const query = new URL(url.replaceAll('&amp;', '&'), 'http://x').searchParams;
        queue.push({ at: query.get('at') ?? '', from: Number(query.get('from')) });
      }
    }
    return text;
  }

  it('is complete for readers who follow all links', () => {
    const doc = adopt({
      words: Array.from({ length: 2000 }, (_, i) => `word-${i}-end`),
      nested: {
        'a/b~c': Array.from({ length: 50 }, (_, i) => ({ id: `id-${i}-end`, text: `${'x'.repeat(300)}-${i}-tail` })),
      },
      fields: Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`field-${i}-end`, i])),
      dollar: {
        $: [
          'object',
          { $: 'own', ...Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`own-${i}-end`, 'y'])) },
        ],
      },
    });
    const text = everything(doc, 2000);
    for (let i = 0; i < 2000; i++) expect(text).toContain(`word-${i}-end`);
    for (let i = 0; i < 50; i++) for (const part of [`id-${i}-end`, `-${i}-tail`]) expect(text).toContain(part);
    for (let i = 0; i < 400; i++) expect(text).toContain(`field-${i}-end`);
    for (let i = 0; i < 300; i++) expect(text).toContain(`own-${i}-end`);
  });

  it('numbers the items of a later page from its start', () => {
    const doc = adopt(Array.from({ length: 500 }, (_, i) => `item ${i}`));
    const piece = truncateDocument(doc, '', 2000, { from: 120 });
    expect(String(showDocument(piece?.value ?? null, SHOWING, { pointer: '', level: 0, from: 120 }))).toContain(
      'start="121"',
    );
  });
});
