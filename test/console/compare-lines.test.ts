import { describe, expect, it } from 'vitest';
import { compareLines } from '../../lambda/console/document/compare-lines.ts';

const show = (before: string, after: string): string =>
  compareLines([...before], [...after])
    .map((pair) => (pair.isSame ? pair.before : `[${pair.before ?? ''}|${pair.after ?? ''}]`))
    .join('');

describe('two texts side by side', () => {
  it.each([
    ['abc', 'abc', 'abc'],
    ['', 'ab', '[|a][|b]'],
    ['ab', '', '[a|][b|]'],
    ['abcd', 'axcd', 'a[b|x]cd'],
    ['abcd', 'acd', 'a[b|]cd'],
    ['acd', 'abcd', 'a[|b]cd'],
    ['aab', 'aaab', 'aa[|a]b'],
    ['abcabba', 'cbabac', '[a|][b|]c[a|]b[|a]ba[|c]'],
  ])('pair the lines of %j and %j', (before, after, pairs) => {
    expect(show(before, after)).toBe(pairs);
  });

  it('contain every line of both texts in order, with as many equal ones as possible', () => {
    let seed = 1;
    const random = (max: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % max;
    };
    const wrong = Array.from({ length: 300 }, () => {
      const [before, after] = [0, 1].map(() => Array.from({ length: random(12) }, () => String(random(4))));
      const pairs = compareLines(before ?? [], after ?? []);
      const side = (name: 'before' | 'after') => pairs.flatMap((pair) => pair[name] ?? []);
      const isRight =
        side('before').join() === before?.join() &&
        side('after').join() === after?.join() &&
        pairs.every(({ before: left, after: right, isSame }) => isSame === (left === right)) &&
        pairs.filter(({ isSame }) => isSame).length >= longestCommon(before ?? [], after ?? []);
      return isRight ? undefined : [before, after, pairs];
    }).filter(Boolean);
    expect(wrong).toEqual([]);
  });

  it('are shown as replaced if comparing them would take too long', () => {
    const lines = (name: string) => Array.from({ length: 5000 }, (_, i) => `${name} ${i}`);
    expect(compareLines(lines('a'), lines('b'))).toHaveLength(5000);
  });
});

function longestCommon([first, ...rest]: readonly string[], after: readonly string[]): number {
  if (first === undefined || after.length === 0) return 0;
  const at = after.indexOf(first);
  const without = longestCommon(rest, after);
  return at < 0 ? without : Math.max(without, 1 + longestCommon(rest, after.slice(at + 1)));
}
