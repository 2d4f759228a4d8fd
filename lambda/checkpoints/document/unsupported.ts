import { types } from 'node:util';

/** Why a checkpoint cannot store a value, and what to store instead; completes a sentence that starts with the path. */
export function describeUnsupported(value: unknown): string {
  if (typeof value === 'function') return 'is a function; store its data, and create it again after a load';
  if (typeof value === 'symbol') return 'is a symbol; store a string instead';
  if (typeof value !== 'object' || value === null) return 'cannot be stored';
  if (types.isPromise(value)) return 'is a promise; await it and store its result';
  if (types.isBoxedPrimitive(value)) return 'is a boxed primitive; store the primitive itself';
  if (types.isWeakMap(value) || types.isWeakSet(value) || value instanceof WeakRef)
    return `is a ${className(value)}, whose items cannot be listed; store a Map or a Set`;
  if (Symbol.asyncIterator in value || (Symbol.iterator in value && 'next' in value))
    return 'is an iterator or a stream; store its items, or create a payload from its bytes';
  const name = className(value);
  if (name === 'Object' || name === '') return 'is an object with a custom prototype; store a plain object';
  return `is an instance of ${name}; register it in \`types\`, or store a plain object`;
}

function className(value: object): string {
  // Uses the descriptor, because reading `constructor` could run a getter.
  for (let proto = Object.getPrototypeOf(value); proto !== null; proto = Object.getPrototypeOf(proto)) {
    const found: unknown = Object.getOwnPropertyDescriptor(proto, 'constructor')?.value;
    if (typeof found === 'function') return found.name;
  }
  return '';
}
