import { type Doc, equal, isContainer, type List } from './document.ts';

/** The search state for a list that is encoded against an old one: the current offset, and the comparisons left. */
export interface Search {
  readonly old: List;
  readonly growth: number;
  shift: number;
  tries: number;
}

// Far enough for the items that a step usually drops; an append must not search the whole list.
const MAX_DISTANCE = 100;

/**
 * The equal old element at another index, or the new element if there is none. The following elements are then expected
 * at the same offset. The limit on comparisons keeps a list of n elements at O(n).
 */
export function findAgain(doc: Doc, index: number, search: Search): Doc {
  // Only containers have an identity to preserve.
  if (!isContainer(doc)) return doc;
  const { old, growth } = search;
  const expected = index + search.shift;
  if (isAt(index) || isAt(index - growth)) return old[index + search.shift] ?? doc;
  for (let distance = 1; distance <= MAX_DISTANCE && search.tries > 0; distance++)
    if (isAt(expected + distance) || isAt(expected - distance)) return old[index + search.shift] ?? doc;
  return doc;

  function isAt(at: number): boolean {
    if (at < 0 || at >= old.length || at === expected) return false;
    search.tries--;
    if (!equal(doc, old[at])) return false;
    search.shift = at - index;
    return true;
  }
}
