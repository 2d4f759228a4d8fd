/** Which branches of a `ctx.all` or `ctx.map` counted, by index. It is recorded, so that a replay counts the same. */
export interface BranchCount {
  /** The number of branches. */
  readonly total: number;
  readonly fulfilled: readonly number[];
  readonly rejected: readonly number[];
}

/** Whether the branch with an index counted. */
export const hasCounted = ({ fulfilled, rejected }: BranchCount, index: number): boolean =>
  fulfilled.includes(index) || rejected.includes(index);

/** The ids of the `ctx.all` or `ctx.map` around an operation, innermost first: `a[1]/b` and `a` for `a[1]/b[0]/c`. */
export const enclosingBranches = (id: string): readonly string[] =>
  enclosingBranchIndexes(id).map(([branchesId]) => branchesId);

/**
 * Those enclosing `ctx.all` and `ctx.map` operations whose recorded count may be outdated when an operation runs again.
 * A branch that did not count changes nothing outside of it.
 */
export function branchesToRecount(id: string, countOf: (id: string) => BranchCount | undefined): readonly string[] {
  const enclosing = enclosingBranchIndexes(id);
  const firstUncounted = enclosing.findIndex(([branchesId, index]) => {
    const count = countOf(branchesId);
    return count !== undefined && !hasCounted(count, index);
  });
  const affected = firstUncounted < 0 ? enclosing : enclosing.slice(0, firstUncounted);
  return affected.map(([branchesId]) => branchesId);
}

const enclosingBranchIndexes = (id: string): readonly (readonly [id: string, index: number])[] =>
  [...id.matchAll(/\[(\d+)\]\//g)].map((match) => [id.slice(0, match.index), Number(match[1])] as const).toReversed();
