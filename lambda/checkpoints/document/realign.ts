import { type Doc, equal, isContainer, type List } from './document.ts';

/** A list being encoded against an old one: how far old elements are off now, and how often to look for them still. */
export interface Search {
  readonly old: List;
  readonly growth: number;
  shift: number;
  tries: number;
}

// Far enough for what a step drops from a list; an append must not look through all of it.
const MAX_DISTANCE = 100;

/**
 * The old element that equals a new one which does not stand where it was expected, else the new one itself. What
 * follows is then expected at the same distance. The number of tries keeps a list of n elements at O(n) comparisons.
 */
export function findAgain(doc: Doc, index: number, search: Search): Doc {
  // Only containers have an identity that is worth keeping.
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
