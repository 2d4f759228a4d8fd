import { deepStrictEqual } from 'node:assert';
import fc from 'fast-check';
import { decode } from '../../../lambda/checkpoints/document/decode.ts';
import type { Doc } from '../../../lambda/checkpoints/document/document.ts';
import { encode } from '../../../lambda/checkpoints/document/encode.ts';
import { parse } from '../../../lambda/checkpoints/document/parse.ts';

export const runs = { seed: Number(process.env.FC_SEED ?? 42), numRuns: 500 };

export const toDoc = (value: unknown, base?: Doc): Doc => encode(value, { root: 'state', base });

/** Through text, as a stored value goes. */
export const roundTrip = (value: unknown, mutable = false): unknown =>
  decode(parse(JSON.stringify(toDoc(value))), { mutable });

/** Also tells keys in another order and gaps in arrays apart. */
export function expectSame(actual: unknown, expected: unknown): void {
  deepStrictEqual(actual, expected);
  deepStrictEqual(shape(actual), shape(expected));
}

function shape(value: unknown): unknown {
  if (value instanceof Map) return [...value].map(([key, item]) => [shape(key), shape(item)]);
  if (value instanceof Set) return [...value].map(shape);
  if (ArrayBuffer.isView(value) || typeof value !== 'object' || value === null) return undefined;
  return Object.keys(value).map((key) => [key, shape(Reflect.get(value, key))]);
}

const keys = fc.oneof(
  fc.constantFrom('$', '__proto__', 'constructor', 'toJSON', 'a', 'b', '1', '0', ''),
  fc.string({ maxLength: 4 }),
);

const longText = fc.string({ minLength: 30, maxLength: 90, unit: 'grapheme' });

const leaves = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  longText,
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.bigInt(),
  fc.constantFrom(null, undefined, Number.NaN, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  fc.date({ noInvalidDate: false }),
  fc.uint8Array({ maxLength: 8 }),
  fc.float64Array({ maxLength: 3, noNaN: true }),
);

function record(entries: readonly (readonly [string, unknown])[], proto: object | null): object {
  const target = Object.create(proto);
  for (const [key, value] of entries)
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  return target;
}

/** Any value that a state may hold, without shared parts. */
export const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'value' },
    leaves,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.sparseArray(tie('value'), { maxLength: 6, maxNumElements: 4 }),
    fc.array(fc.tuple(keys, tie('value')), { maxLength: 5 }).map((entries) => record(entries, Object.prototype)),
    fc.array(fc.tuple(keys, tie('value')), { maxLength: 3 }).map((entries) => record(entries, null)),
    fc.array(fc.tuple(keys, tie('value')), { maxLength: 4 }).map((entries) => new Map<unknown, unknown>(entries)),
    fc.array(fc.oneof(fc.string(), fc.integer()), { maxLength: 4 }).map((items) => new Set<unknown>(items)),
  ),
})).value;

/** Two documents, the second made from the first by a few edits, so that patches have something to find. */
export const documentPairs = fc
  .tuple(values, fc.array(fc.tuple(fc.nat(), fc.nat(), values), { maxLength: 4 }), values)
  .map(([value, edits, other]): [Doc, Doc] => {
    const before = parse(JSON.stringify(toDoc([value, other, 'x'.repeat(50), [value, other, value]])));
    const after = JSON.parse(JSON.stringify(before));
    for (const [pick, where, fresh] of edits) edit(after, pick, where, JSON.parse(JSON.stringify(toDoc(fresh))));
    return [before, parse(JSON.stringify(after))];
  });

function edit(root: unknown, pick: number, where: number, fresh: unknown): void {
  const containers: object[] = [];
  const collect = (node: unknown) => {
    if (typeof node !== 'object' || node === null) return;
    containers.push(node);
    Object.values(node).forEach(collect);
  };
  collect(root);
  const target = containers[pick % containers.length];
  if (Array.isArray(target)) target.splice(where % (target.length + 1), pick % 3, ...[fresh, fresh].slice(where % 3));
  else if (target) {
    const own = Object.keys(target);
    const key = own[where % (own.length + 1)] ?? `new${where % 5}`;
    if (pick % 3 === 0) Reflect.deleteProperty(target, key);
    else Object.defineProperty(target, key, { value: fresh, enumerable: true, writable: true, configurable: true });
  }
}
