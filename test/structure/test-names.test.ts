import { describe, expect, it } from 'vitest';
import { namesOfTests, type ProseLine } from './prose.ts';
import { trackedFiles } from './tracked-files.ts';

const PREPOSITION = /^(after|at|before|by|during|for|from|if|in|of|on|such as|that|to|under|when|with|without) /;

// A value of a table that is appended to a sentence instead of being a part of it.
const APPENDED = /[:,] (%\w|\$\w+)$|\((%\w|\$\w+)\)$/;

const fragmentsIn = (names: readonly ProseLine[]): readonly string[] =>
  names
    .filter(({ text }) => PREPOSITION.test(text) || APPENDED.test(text))
    .map(({ file, line, text }) => `${file}:${line}: ${text}`);

describe('the names of tests', () => {
  const files = trackedFiles().filter((file) => /^test\/.*\.ts$/.test(file));

  it('are sentences about the thing that their describe block names', () => {
    const names = files.flatMap((file) => namesOfTests(file));
    expect(names.length).toBeGreaterThan(2_000);
    expect(fragmentsIn(names)).toEqual([]);
  });
});

describe('the search for fragments in the names of tests', () => {
  const found = (source: string): number => fragmentsIn(namesOfTests('a.test.ts', source)).length;

  it('finds a preposition at the start, and a value of a table at the end', () => {
    expect(found("it('with a name is saved', () => {});")).toBe(1);
    expect(found("test.each([])('is saved: %s', () => {});")).toBe(1);
    expect(found("test.each([])('is saved (%s)', () => {});")).toBe(1);
  });

  it('accepts sentences, and the names of describe blocks', () => {
    expect(found("describe('of a run', () => it.each([])('is saved if it is %s', () => {}));")).toBe(0);
  });
});
