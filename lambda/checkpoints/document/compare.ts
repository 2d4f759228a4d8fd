import {
  type Doc,
  equal,
  type Fields,
  isFields,
  isList,
  type List,
  partOf,
  specialOf,
  verbatimPart,
} from './document.ts';
import { findGaps } from './gaps.ts';
import { printPath, type Step } from './path.ts';

// Deeper values are compared as a whole: longer paths are unreadable, and recursion stays limited.
const MAX_COMPARED_DEPTH = 250;

/** The differences between two documents; `at` is the position of a difference in document order. */
export interface Comparison<T = Doc> {
  readonly added: readonly { readonly at: number; readonly path: string; readonly value: T }[];
  readonly removed: readonly { readonly at: number; readonly path: string; readonly value: T }[];
  readonly changed: readonly { readonly at: number; readonly path: string; readonly before: T; readonly after: T }[];
}

/** Compares two documents for people: changes by leaf; added and removed values as a whole. */
export function compare(before: Doc, after: Doc): Comparison;
export function compare<T>(before: Doc, after: Doc, toValue: (doc: Doc) => T): Comparison<T>;
export function compare(before: Doc, after: Doc, toValue: (doc: Doc) => unknown = (doc) => doc): Comparison<unknown> {
  const added: { at: number; path: string; value: unknown }[] = [];
  const removed: { at: number; path: string; value: unknown }[] = [];
  const changed: { at: number; path: string; before: unknown; after: unknown }[] = [];
  visit(before, after, []);
  return { added, removed, changed };

  function visit(was: Doc | undefined, is: Doc | undefined, steps: readonly Step[]): void {
    if (was === is || (was !== undefined && is !== undefined && visitInside(was, is, steps))) return;
    const path = printPath('', steps) || '(root)';
    const at = added.length + removed.length + changed.length;
    if (was === undefined) added.push({ at, path, value: toValue(is ?? null) });
    else if (is === undefined) removed.push({ at, path, value: toValue(was) });
    else changed.push({ at, path, before: toValue(was), after: toValue(is) });
  }

  /** Compares the children of two values of the same kind; false when they can only be reported as a whole. */
  function visitInside(was: Doc, is: Doc, steps: readonly Step[]): boolean {
    if (equal(was, is)) return true;
    if (steps.length === MAX_COMPARED_DEPTH) return false;
    if (isList(was) && isList(is)) return visitList(was, is, steps);
    if (!isFields(was) || !isFields(is)) return false;
    if (specialOf(was) !== undefined || specialOf(is) !== undefined) return visitSpecial(was, is, steps);
    return visitFields(was, is, steps);
  }

  function visitFields(was: Fields, is: Fields, steps: readonly Step[]): boolean {
    const keys = Object.keys(is);
    const gone = Object.keys(was).filter((key) => !Object.hasOwn(is, key));
    const count = added.length + removed.length + changed.length;
    for (const key of [...gone, ...keys])
      visit(Object.hasOwn(was, key) ? was[key] : undefined, Object.hasOwn(is, key) ? is[key] : undefined, [
        ...steps,
        key,
      ]);
    // False when only the order of the keys differs.
    return added.length + removed.length + changed.length > count;
  }

  function visitList(was: List, is: List, steps: readonly Step[]): boolean {
    for (const gap of findGaps(was, is)) {
      const [b, bEnd] = gap.before;
      const [a, aEnd] = gap.after;
      const pairs = Math.min(bEnd - b, aEnd - a);
      for (let i = 0; i < pairs; i++) visit(was[b + i], is[a + i], [...steps, a + i]);
      for (let i = b + pairs; i < bEnd; i++) visit(was[i], undefined, [...steps, i]);
      for (let i = a + pairs; i < aEnd; i++) visit(undefined, is[i], [...steps, i]);
    }
    return true;
  }

  function visitSpecial(was: Doc, is: Doc, steps: readonly Step[]): boolean {
    for (const [tag, part] of [
      ['object', 1],
      ['null-object', 1],
      ['shared', 2],
      ['class', 2],
    ] as const) {
      const [old, now] = [partOf(was, tag, part), partOf(is, tag, part)];
      if (old === undefined || now === undefined || (tag === 'class' && partOf(was, tag, 1) !== partOf(is, tag, 1)))
        continue;
      if (verbatimPart(tag) > 0 && isFields(old) && isFields(now)) return visitFields(old, now, steps);
      visit(old, now, steps);
      return true;
    }
    const maps = [partOf(was, 'map', 1), partOf(is, 'map', 1)].map(entriesByKey);
    const sets = [partOf(was, 'set', 1), partOf(is, 'set', 1)].map(itemsByText);
    const [olds, nows] = maps[0] && maps[1] ? maps : sets;
    if (!olds || !nows) return false;
    const count = added.length + removed.length + changed.length;
    for (const [key, [step, old]] of olds) if (!nows.has(key)) visit(old, undefined, [...steps, step]);
    for (const [key, [step, now]] of nows) visit(olds.get(key)?.[1], now, [...steps, step]);
    return added.length + removed.length + changed.length > count;
  }
}

type ItemsByKey = Map<string, readonly [Step, Doc]>;

function entriesByKey(entries: Doc | undefined): ItemsByKey | undefined {
  if (!isList(entries)) return undefined;
  return new Map(
    entries.filter(isList).map(([key = null, value = null], i) => {
      const step: Step = typeof key === 'object' && key !== null ? ['value', i] : ['get', key];
      return [JSON.stringify(key), [step, value]];
    }),
  );
}

const itemsByText = (items: Doc | undefined): ItemsByKey | undefined =>
  isList(items) ? new Map(items.map((item, i) => [JSON.stringify(item), [['value', i], item]])) : undefined;
