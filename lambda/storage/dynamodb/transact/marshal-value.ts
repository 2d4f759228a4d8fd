import { types } from 'node:util';
import { describeValue, enter, isPlainObject, memberPath, unsupportedValue } from './item-errors.ts';
import type { RawValue } from './transact-items.ts';

/**
 * Converts the members of a plain object, or of a Map, to attribute values. Members that are undefined are left out.
 * Throws UNSUPPORTED_VALUE for everything that the AWS SDK would drop, convert or fail to send.
 */
export function marshalMembers(value: object, path: string, parents: readonly object[] = []): Record<string, RawValue> {
  const entries: readonly (readonly [unknown, unknown])[] = types.isMap(value) ? [...value] : Object.entries(value);
  for (const name of [...entries.map(([key]) => key), ...Object.getOwnPropertySymbols(value)])
    if (typeof name !== 'string')
      throw unsupportedValue(path, `an object with the name ${String(name)}`, 'Use strings as names.');
  return Object.fromEntries(
    (entries as readonly (readonly [string, unknown])[])
      .filter(([, each]) => each !== undefined)
      .map(([name, each]) => [name, marshalValue(each, memberPath(path, name), parents)]),
  );
}

function marshalValue(value: unknown, path: string, parents: readonly object[]): RawValue {
  if (value === null) return { NULL: true };
  if (typeof value === 'boolean') return { BOOL: value };
  if (typeof value === 'string') {
    if (value.isWellFormed()) return { S: value };
    throw unsupportedValue(path, 'text with half a surrogate pair', 'Call `toWellFormed()` on it, or store bytes.');
  }
  if (typeof value === 'number' || typeof value === 'bigint') return { N: toNumberText(value, path) };
  if (types.isUint8Array(value)) return { B: value };
  if (isNumberValue(value)) return { N: toNumberText(value.toAttributeValue().N, path) };
  if (types.isSet(value)) return marshalSet([...value], path);
  if (types.isMap(value) || isPlainObject(value))
    return { M: marshalMembers(value, path, enter(value, path, parents)) };
  if (!Array.isArray(value)) throw unsupportedValue(path, describeValue(value), adviceFor(value));
  const inside = enter(value, path, parents);
  return { L: Array.from(value, (each, i) => marshalValue(each, `${path}[${i}]`, inside)) };
}

function marshalSet(values: readonly unknown[], path: string): RawValue {
  if (values.length === 0) throw unsupportedValue(path, 'an empty set', 'Leave it out, or use a list.');
  const members = values.map((each, i) => marshalValue(each, `${path}.value(${i})`, []));
  const [type = '', ...others] = new Set(members.flatMap((each) => Object.keys(each)));
  if (others.length > 0 || !['S', 'N', 'B'].includes(type))
    throw unsupportedValue(path, 'a set of other values than only strings, only numbers or only bytes', 'Use a list.');
  return { [`${type}S`]: members.flatMap((each) => Object.values(each)) } as unknown as RawValue;
}

// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
const MAX_DIGITS = 38;
const [MIN_MAGNITUDE, MAX_MAGNITUDE] = [1e-130, 1e126];

function toNumberText(value: number | bigint | string, path: string): string {
  const text = String(value);
  const magnitude = Math.abs(Number(text));
  if (Number.isNaN(magnitude) || magnitude === Infinity)
    throw unsupportedValue(path, text, 'Use a finite number or null.');
  if (typeof value === 'number' && magnitude > Number.MAX_SAFE_INTEGER)
    throw unsupportedValue(path, `${text}, beyond the integers that a number holds exactly`, 'Use a BigInt.');
  const digits = text
    .replace(/e.*/i, '')
    .replace(/\D/g, '')
    .replace(/^0+|0+$/g, '');
  if (digits.length > MAX_DIGITS)
    throw unsupportedValue(path, `a number of ${digits.length} digits`, `Use at most ${MAX_DIGITS}, or a string.`);
  if (digits !== '' && (magnitude < MIN_MAGNITUDE || magnitude >= MAX_MAGNITUDE))
    throw unsupportedValue(path, text, 'Use 0 or a magnitude from 1e-130 to below 1e126, or a string.');
  return text;
}

/** The NumberValue of @aws-sdk/lib-dynamodb, from any copy of it. */
const isNumberValue = (value: unknown): value is { toAttributeValue(): { readonly N: string } } =>
  typeof value === 'object' && typeof (value as { toAttributeValue?: unknown }).toAttributeValue === 'function';

function adviceFor(value: unknown): string {
  if (value === undefined) return 'Use null, or leave it out.';
  if (types.isDate(value)) return 'Use `date.toISOString()` or `date.getTime()`.';
  if (types.isPromise(value)) return "Await it in the step's function.";
  if (types.isAnyArrayBuffer(value) || ArrayBuffer.isView(value) || value instanceof Blob) return 'Use a Uint8Array.';
  if (typeof value === 'object') return 'Use a plain object, such as `{ ...value }`.';
  return 'Store data instead.';
}
