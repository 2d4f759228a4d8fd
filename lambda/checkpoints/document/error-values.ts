import { types } from 'node:util';
import { put } from './document.ts';

const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

export const isError = (value: object): value is Error => types.isNativeError(value) || value instanceof Error;

/** The keys of an error that are stored in addition to its name and message. */
export function errorFields(error: Error, enumerable: readonly string[]): readonly string[] {
  // Built-in errors define these as non-enumerable.
  const hidden = ['cause', ...(error instanceof AggregateError ? ['errors'] : [])].filter((key) =>
    Object.hasOwn(error, key),
  );
  if (typeof error.stack === 'string') hidden.unshift('stack');
  return [...hidden, ...enumerable.filter((key) => !hidden.includes(key))];
}

/** The name or message of an error, as text. A DOMException has them on its prototype. */
export function textOf(error: Error, key: 'name' | 'message'): string {
  const text: unknown = error[key];
  return typeof text === 'string' ? text : '';
}

/** Creates an error of the built-in class with this name, or an Error with this name; its fields are set separately. */
export function createError(name: string, message: string): Error {
  const error =
    name === 'AggregateError'
      ? new AggregateError([], message)
      : new (Object.hasOwn(ERRORS, name) ? ERRORS[name as keyof typeof ERRORS] : Error)(message);
  if (error.name !== name) put(error, 'name', name, false);
  Reflect.deleteProperty(error, 'stack');
  return error;
}

/** Sets a stored field with the enumerability that it has on built-in errors. */
export function putErrorField(error: Error, key: string, value: unknown): void {
  put(error, key, value, key !== 'stack' && key !== 'cause' && !(key === 'errors' && error instanceof AggregateError));
}
