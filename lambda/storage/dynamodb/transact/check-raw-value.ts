import { types } from 'node:util';
import { describeValue, enter, isPlainObject, malformedWrite, memberPath } from './item-errors.ts';

const isText = (value: unknown): boolean => typeof value === 'string';
const isListOf = (check: (value: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(check);

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  S: isText,
  N: isText,
  B: types.isUint8Array,
  BOOL: (value) => typeof value === 'boolean',
  NULL: (value) => value === true,
  SS: isListOf(isText),
  NS: isListOf(isText),
  BS: isListOf(types.isUint8Array),
  L: Array.isArray,
  M: isPlainObject,
};

/** Checks attribute values: the AWS SDK would send `{ S: 1 }` as an empty string. */
export function checkRawMembers(value: object, path: string, parents: readonly object[] = []): void {
  for (const [name, each] of Object.entries(value)) checkRawValue(each, memberPath(path, name), parents);
}

function checkRawValue(value: unknown, path: string, parents: readonly object[]): void {
  const [[type = '', content] = [], ...others] = isPlainObject(value) ? Object.entries(value) : [];
  if (others.length > 0 || !Object.hasOwn(TYPES, type) || !TYPES[type]?.(content))
    throw malformedWrite(path, "be an attribute value, such as { S: 'x' }", foundIn(value));
  if (isPlainObject(content)) checkRawMembers(content, `${path}.M`, enter(content, path, parents));
  if (type === 'L' && Array.isArray(content)) {
    const inside = enter(content, path, parents);
    for (const [i, each] of content.entries()) checkRawValue(each, `${path}.L[${i}]`, inside);
  }
}

function foundIn(value: unknown): string {
  if (!isPlainObject(value)) return `${describeValue(value)}. Use \`transact\` for plain values`;
  const members = Object.entries(value).map(([name, each]) => `${name}: ${describeValue(each)}`);
  return `{ ${members.join(', ')} }`;
}
