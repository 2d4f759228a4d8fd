import { WaitstateError } from '../../../core/errors.ts';

/** The error of a write that is malformed: what it must be or have, and what was found. */
export const malformedWrite = (path: string, expected: string, found: string): WaitstateError =>
  new WaitstateError('INVALID_INPUT', `\`${path}\` must ${expected}; found ${found}.`, { scope: 'step' });

/** The error of a value that DynamoDB cannot store, or that would not be stored as it is. */
export const unsupportedValue = (path: string, found: string, advice: string): WaitstateError =>
  new WaitstateError('UNSUPPORTED_VALUE', `\`${path}\` is ${found}, which DynamoDB cannot store. ${advice}`, {
    scope: 'step',
  });

/** The kind of a value in words, such as `a Date`. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined || typeof value === 'boolean') return String(value);
  if (typeof value === 'string')
    return value.length > 40 ? `${JSON.stringify(value.slice(0, 40))}…` : JSON.stringify(value);
  if (typeof value === 'number' || typeof value === 'bigint') return `${value}`;
  if (typeof value !== 'object') return `a ${typeof value}`;
  const name = isPlainObject(value) ? 'Object' : String(value.constructor?.name || 'class without a name');
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`;
}

/** Whether a value is an object that is made by a literal, in any realm. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The path of a member in JavaScript notation. */
export const memberPath = (path: string, name: string): string =>
  /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;

// The item itself is the first of the 32 levels that DynamoDB allows.
const MAX_NESTING = 31;

/** The objects around a member of this one; throws when it contains itself, or is nested too deep. */
export function enter(value: object, path: string, parents: readonly object[]): readonly object[] {
  if (parents.includes(value)) throw unsupportedValue(path, 'a reference to an object around it', 'Remove it.');
  if (parents.length >= MAX_NESTING)
    throw unsupportedValue(path, `nested deeper than ${MAX_NESTING} levels`, 'Flatten it, or store it as JSON text.');
  return [...parents, value];
}
