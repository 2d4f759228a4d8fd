import { checkRawMembers } from './check-raw-value.ts';
import { describeValue, isPlainObject, malformedWrite, memberPath, unsupportedValue } from './item-errors.ts';
import { marshalMembers } from './marshal-value.ts';

// What each write needs besides TableName.
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  Put: ['Item'],
  Update: ['Key', 'UpdateExpression'],
  Delete: ['Key'],
  ConditionCheck: ['Key', 'ConditionExpression'],
};
const OPTIONAL = ['ConditionExpression', 'ExpressionAttributeNames', 'ExpressionAttributeValues'];

/**
 * Converts a write of `transact` to attribute values, or checks one of `transactRaw`, which has them. Throws
 * INVALID_INPUT for a malformed write and UNSUPPORTED_VALUE for a value that DynamoDB cannot store, with its path.
 */
export function toTransactItem(
  item: unknown,
  path: string,
  isRaw: boolean,
): Readonly<Record<string, { readonly TableName: string }>> {
  const kinds = definedNames(item);
  const [kind = ''] = kinds;
  const needed = Object.hasOwn(NEEDED, kind) ? NEEDED[kind] : undefined;
  if (!needed || !isPlainObject(item) || kinds.length > 1)
    throw malformedWrite(
      path,
      `have exactly one of ${Object.keys(NEEDED).join(', ')}`,
      kinds.join(', ') || describeValue(item),
    );
  const write = item[kind];
  const at = `${path}.${kind}`;
  if (!isPlainObject(write)) throw malformedWrite(at, 'be an object', describeValue(write));
  const required = ['TableName', ...needed];
  const names = [...new Set([...required, ...OPTIONAL])];
  const unknown = definedNames(write).filter((name) => !names.includes(name));
  // The SDK would leave it out: a condition with a typo would be no condition.
  if (unknown.length > 0) throw malformedWrite(at, `have only ${names.join(', ')}`, unknown.join(', '));
  const members = names
    .filter((name) => required.includes(name) || write[name] !== undefined)
    .map((name) => [name, toMember(name, write[name], `${at}.${name}`, isRaw)]);
  return { [kind]: Object.fromEntries(members) };
}

const definedNames = (value: unknown): readonly string[] =>
  isPlainObject(value) ? Object.keys(value).filter((name) => value[name] !== undefined) : [];

function toMember(name: string, value: unknown, path: string, isRaw: boolean): unknown {
  if (name === 'TableName' || name.endsWith('Expression')) {
    if (typeof value === 'string' && value !== '') return value;
    throw malformedWrite(path, 'be a string that is not empty', describeValue(value));
  }
  if (!isPlainObject(value)) throw malformedWrite(path, 'be an object', describeValue(value));
  if (name === 'ExpressionAttributeNames') {
    for (const [key, text] of Object.entries(value))
      if (typeof text !== 'string') throw malformedWrite(memberPath(path, key), 'be a string', describeValue(text));
    return value;
  }
  if (isRaw) {
    checkRawMembers(value, path);
    return value;
  }
  const missing = name === 'Item' ? undefined : Object.keys(value).find((key) => value[key] === undefined);
  if (missing !== undefined) throw unsupportedValue(memberPath(path, missing), 'undefined', 'Give it a value.');
  return marshalMembers(value, path);
}
