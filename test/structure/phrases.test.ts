import { describe, expect, it } from 'vitest';
import { ALLOWED, RETIRED_PHRASES } from './phrases.ts';
import { type ProseLine, proseIn } from './prose.ts';
import { trackedFiles } from './tracked-files.ts';

const WRITTEN = /\.(md|ts)$|^llms\.txt$/;
const LEFT_OUT = /^test\/structure\/|^lambda\/console\/assets\.ts$|^bench\/peers\//;

const files = trackedFiles().filter((file) => WRITTEN.test(file) && !LEFT_OUT.test(file));

const retiredIn = (lines: readonly ProseLine[]): readonly string[] =>
  lines.flatMap(({ file, line, text }) =>
    RETIRED_PHRASES.filter(({ pattern }) => pattern.test(text))
      .filter(() => !ALLOWED.some((allowed) => allowed.file === file && text.includes(allowed.text)))
      .map(({ instead }) => `${file}:${line}: ${text.trim().slice(0, 160)}  [write: ${instead}]`),
  );

describe('the language of the project', () => {
  const lines = files.flatMap((file) => proseIn(file));

  it('uses no retired phrase in docs, UI texts, messages, comments and test names', () => {
    expect(lines.length).toBeGreaterThan(10_000);
    expect(retiredIn(lines)).toEqual([]);
  });

  it('needs every exception that it lists', () => {
    const unused = ALLOWED.filter(
      ({ file, text }) => !lines.some((line) => line.file === file && line.text.includes(text)),
    );
    expect(unused).toEqual([]);
  });
});

describe('the search for retired phrases', () => {
  const found = (file: string, source: string): readonly string[] => retiredIn(proseIn(file, source));

  it('finds them in pages, but not in code blocks', () => {
    expect(found('a.md', 'The run goes on.\n\n```ts\n// it goes on\n```\n')).toEqual([
      expect.stringMatching(/^a\.md:1: The run goes on\./),
    ]);
  });

  it('finds them in comments, texts and templates of a module', () => {
    const source = "// it is mended\nconst a = 'people are told';\nconst b = `asks anew`;\n";
    expect(found('a.ts', source).map((hit) => hit.split(' ')[0])).toEqual(['a.ts:1:', 'a.ts:2:', 'a.ts:3:']);
  });

  it('finds them in the names of tests, but not in their data', () => {
    const source = "describe.each([])('who may', () => it('goes on', () => say('tried in vain')));\n";
    expect(found('a.test.ts', source)).toHaveLength(2);
  });
});
