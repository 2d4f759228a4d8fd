import { type Doc, equal, type Fields, isContainer, isFields, isIndex, isList, type List } from './document.ts';
import { findGaps } from './gaps.ts';
import type { Key, Op } from './op.ts';

// Deeper values are replaced as a whole: longer paths cost more than they save, and recursion stays limited.
const MAX_PATH_LENGTH = 250;

/** The operations that turn one document into another; never much larger than replacing the changed values. */
export function diff(before: Doc, after: Doc): readonly Op[] {
  const ops: Op[] = [];
  change(before, after, [], ops);
  return ops;
}

/** Adds the operations for one path, and returns their approximate size in characters of JSON. */
function change(before: Doc, after: Doc, path: Key[], ops: Op[]): number {
  if (before === after) return 0;
  const start = ops.length;
  let weight: number | undefined;
  if (path.length === MAX_PATH_LENGTH) weight = equal(before, after) ? 0 : undefined;
  else if (isList(before) && isList(after)) weight = changeList(before, after, path, ops);
  else if (isFields(before) && isFields(after)) weight = changeFields(before, after, path, ops);
  else if (typeof before === 'string' && typeof after === 'string') weight = changeString(before, after, path, ops);
  // A single operation contains only a part of `after`; several could be larger than all of it.
  if (weight !== undefined && (ops.length - start < 2 || weigh(after, weight) >= weight)) return weight;
  ops.length = start;
  return add(ops, [path.slice(), after]);
}

function changeFields(before: Fields, after: Fields, path: Key[], ops: Op[]): number | undefined {
  const old = Object.keys(before);
  const keys = Object.keys(after);
  // Fast path: almost always, keys are only added at the end.
  const grown = old.length <= keys.length && old.every((key, i) => key === keys[i]);
  const kept = grown ? old : old.filter((key) => Object.hasOwn(after, key));
  const added = grown ? keys.slice(old.length) : keys.filter((key) => !Object.hasOwn(before, key));
  if (!grown && !isOrder(keys, [...kept, ...added])) return undefined;
  let weight = 0;
  if (kept.length < old.length)
    for (const key of old) if (!Object.hasOwn(after, key)) weight += add(ops, [[...path, key]]);
  for (const key of kept) weight += changeChild(before[key], after[key], key, path, ops);
  for (const key of added) weight += add(ops, [[...path, key], after[key] ?? null]);
  return weight;
}

// The order of keys is data, and an operation can only add a key at the end. Index keys are exempt: objects sort them.
function isOrder(keys: readonly string[], made: readonly string[]): boolean {
  const ordered = made.filter((key) => !isIndex(key));
  return keys.filter((key) => !isIndex(key)).every((key, i) => key === ordered[i]);
}

function changeList(before: List, after: List, path: Key[], ops: Op[]): number {
  let weight = 0;
  // From the end, so that earlier indexes stay valid.
  for (const gap of findGaps(before, after).reverse()) {
    const [b, bEnd] = gap.before;
    const [a, aEnd] = gap.after;
    const pairs = Math.min(bEnd - b, aEnd - a);
    if (bEnd - b !== aEnd - a)
      weight += add(ops, [path.slice(), b + pairs, bEnd - b - pairs, after.slice(a + pairs, aEnd)]);
    // Adjacent replaced items become one splice instead of one set each.
    let fresh = 0;
    for (let i = pairs - 1; i >= 0; i--) {
      const start = ops.length;
      const pair = changeChild(before[b + i], after[a + i], b + i, path, ops);
      const isSet = ops.length === start + 1 && ops[start]?.length === 2 && ops[start][0].length === path.length + 1;
      if (isSet) {
        ops.pop();
        fresh++;
      } else weight += pair;
      if (fresh === 0 || (isSet && i > 0)) continue;
      const from = isSet ? i : i + 1;
      weight += add(ops, [path.slice(), b + from, fresh, after.slice(a + from, a + from + fresh)]);
      fresh = 0;
    }
  }
  return weight;
}

function changeChild(before: Doc | undefined, after: Doc | undefined, key: Key, path: Key[], ops: Op[]): number {
  if (before === undefined || after === undefined) return 0;
  path.push(key);
  const weight = change(before, after, path, ops);
  path.pop();
  return weight;
}

function changeString(before: string, after: string, path: Key[], ops: Op[]): number | undefined {
  const shorter = Math.min(before.length, after.length);
  if (shorter <= 32) return undefined;
  let head = 0;
  while (head < shorter && before.charCodeAt(head) === after.charCodeAt(head)) head++;
  let tail = 0;
  while (
    tail < shorter - head &&
    before.charCodeAt(before.length - tail - 1) === after.charCodeAt(after.length - tail - 1)
  )
    tail++;
  // Half of a surrogate pair cannot be written as UTF-8.
  if (isBetweenSurrogates(before, head) || isBetweenSurrogates(after, head)) head--;
  if (isBetweenSurrogates(before, before.length - tail) || isBetweenSurrogates(after, after.length - tail)) tail--;
  if (head + tail <= 32 || head + tail < after.length / 2) return undefined;
  return add(ops, [path.slice(), head, before.length - head - tail, after.slice(head, after.length - tail)]);
}

const isBetweenSurrogates = (text: string, at: number): boolean =>
  (text.charCodeAt(at - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(at) & 0xfc00) === 0xdc00;

function add(ops: Op[], op: Op): number {
  ops.push(op);
  return weigh(op);
}

/** The approximate length of the JSON; stops once it exceeds the limit. */
function weigh(doc: Doc, limit = Number.POSITIVE_INFINITY): number {
  if (typeof doc === 'string') return doc.length + 3;
  if (!isContainer(doc)) return String(doc).length + 1;
  let weight = 3;
  const keys = isList(doc) ? undefined : Object.keys(doc);
  const length = isList(doc) ? doc.length : (keys?.length ?? 0);
  for (let i = 0; i < length && weight <= limit; i++) {
    const key = keys?.[i];
    weight += key === undefined ? 0 : key.length + 3;
    weight += weigh((isList(doc) ? doc[i] : key === undefined ? null : doc[key]) ?? null, limit - weight);
  }
  return weight;
}
