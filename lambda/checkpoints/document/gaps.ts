import { type Doc, equal, type List } from './document.ts';

/** A range in which two lists differ, as `[from, to)` in each; items between gaps are equal. */
export interface Gap {
  readonly before: readonly [from: number, to: number];
  readonly after: readonly [from: number, to: number];
}

// Limits the work for reordered lists; each round is O(n).
const MAX_ROUNDS = 24;

/** The ranges in which two lists differ, in order. */
export function findGaps(before: List, after: List): Gap[] {
  const gaps: Gap[] = [];
  search(0, before.length, 0, after.length, MAX_ROUNDS);
  return gaps;

  function search(b: number, bEnd: number, a: number, aEnd: number, rounds: number): void {
    while (b < bEnd && a < aEnd && equal(before[b], after[a])) {
      b++;
      a++;
    }
    while (b < bEnd && a < aEnd && equal(before[bEnd - 1], after[aEnd - 1])) {
      bEnd--;
      aEnd--;
    }
    if (b === bEnd && a === aEnd) return;
    const run = b < bEnd && a < aEnd && rounds > 0 ? longestRun(b, bEnd, a, aEnd) : undefined;
    if (!run) {
      gaps.push({ before: [b, bEnd], after: [a, aEnd] });
      return;
    }
    search(b, run.at + run.shift, a, run.at, rounds - 1);
    search(run.at + run.length + run.shift, bEnd, run.at + run.length, aEnd, rounds - 1);
  }

  /** The longest run of identical elements at the offset by which most elements moved. */
  function longestRun(b: number, bEnd: number, a: number, aEnd: number) {
    const indexes = new Map<Doc | undefined, number>();
    for (let i = b; i < bEnd; i++) indexes.set(before[i], i);
    const votes = new Map<number, number>();
    let shift = 0;
    for (let i = a; i < aEnd; i++) {
      const index = indexes.get(after[i]);
      if (index === undefined) continue;
      votes.set(index - i, (votes.get(index - i) ?? 0) + 1);
      if ((votes.get(index - i) ?? 0) > (votes.get(shift) ?? 0)) shift = index - i;
    }
    let best = { at: a, length: 0, shift };
    const end = Math.min(aEnd, bEnd - shift);
    for (let i = Math.max(a, b - shift), length = 0; i < end; i++) {
      length = before[i + shift] === after[i] ? length + 1 : 0;
      if (length > best.length) best = { at: i - length + 1, length, shift };
    }
    return best.length > 0 ? best : undefined;
  }
}
