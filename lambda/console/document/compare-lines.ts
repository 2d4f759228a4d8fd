/** Lines of two texts that stand side by side: equal, different, or only on one side. */
export interface LinePair {
  readonly before?: string;
  readonly after?: string;
  readonly isSame: boolean;
}

// Larger parts that differ are shown as replaced: comparing them would take too long.
const MAX_COMPARED = 4_000_000;

/** Pairs the lines of two texts, so that as many equal lines as possible stand side by side. */
export function compareLines(before: readonly string[], after: readonly string[]): readonly LinePair[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (end < shorter && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const same = (lines: readonly string[]): readonly LinePair[] =>
    lines.map((line) => ({ before: line, after: line, isSame: true }));
  return [
    ...same(before.slice(0, start)),
    ...pairMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...same(before.slice(before.length - end)),
  ];
}

function pairMiddle(before: readonly string[], after: readonly string[]): readonly LinePair[] {
  if (before.length * after.length > MAX_COMPARED) return pairChanged(before, after);
  const lengths = commonLengths(before, after);
  const width = after.length + 1;
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  const pairs: LinePair[] = [];
  let [removed, added]: [string[], string[]] = [[], []];
  const flush = (): void => {
    pairs.push(...pairChanged(removed, added));
    [removed, added] = [[], []];
  };
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [left, right] = [before[i], after[j]];
    if (left !== undefined && left === right) {
      flush();
      pairs.push({ before: left, after: right, isSame: true });
      [i, j] = [i + 1, j + 1];
    } else if (left !== undefined && (right === undefined || at(i + 1, j) >= at(i, j + 1))) {
      removed.push(left);
      i += 1;
    } else {
      added.push(right ?? '');
      j += 1;
    }
  }
  flush();
  return pairs;
}

const pairChanged = (removed: readonly string[], added: readonly string[]): readonly LinePair[] =>
  Array.from({ length: Math.max(removed.length, added.length) }, (_, i) => {
    const [before, after] = [removed[i], added[i]];
    return { ...(before !== undefined && { before }), ...(after !== undefined && { after }), isSame: false };
  });

/** The length of the longest common subsequence of the rest of both texts, for each pair of positions. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const below = (i + 1) * width + j;
      lengths[i * width + j] =
        before[i] === after[j]
          ? (lengths[below + 1] ?? 0) + 1
          : Math.max(lengths[below] ?? 0, lengths[i * width + j + 1] ?? 0);
    }
  }
  return lengths;
}
