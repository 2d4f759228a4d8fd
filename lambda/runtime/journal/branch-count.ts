/** Which branches counted, by their index: what is recorded, so that a replay counts the same. */
export interface BranchCount {
  /** How many branches there were. */
  readonly of: number;
  readonly fulfilled: readonly number[];
  readonly rejected: readonly number[];
}

export const hasCounted = ({ fulfilled, rejected }: BranchCount, index: number): boolean =>
  fulfilled.includes(index) || rejected.includes(index);

/** The identities of the branches around an operation, innermost first: `all[1]/any` and `all` for `all[1]/any[0]/pay`. */
export const enclosingBranches = (id: string): readonly string[] => branchesWithIndex(id).map(([around]) => around);

/**
 * The branches around an operation that runs again whose recorded count may no longer hold. A branch that did not count
 * changes nothing outside of it.
 */
export function branchesToRecount(id: string, countOf: (id: string) => BranchCount | undefined): readonly string[] {
  const around = branchesWithIndex(id);
  const untouched = around.findIndex(([branches, index]) => {
    const count = countOf(branches);
    return count !== undefined && !hasCounted(count, index);
  });
  return (untouched < 0 ? around : around.slice(0, untouched)).map(([branches]) => branches);
}

const branchesWithIndex = (id: string): readonly (readonly [id: string, index: number])[] =>
  [...id.matchAll(/\[(\d+)\]\//g)].map((match) => [id.slice(0, match.index), Number(match[1])] as const).toReversed();
