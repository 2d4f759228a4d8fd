import { types } from 'node:util';

/** What a value is that no checkpoint can keep, and what to do instead; follows the path in a sentence. */
export function describeUnsupported(value: unknown): string {
  if (typeof value === 'function')
    return 'is a function; keep the data it needs, or a name to look it up by, and make it anew after a load';
  if (typeof value === 'symbol') return 'is a symbol; keep a string instead';
  if (typeof value !== 'object' || value === null) return 'cannot be kept';
  if (types.isPromise(value)) return 'is a promise; await it and keep its result';
  if (types.isBoxedPrimitive(value)) return 'is a boxed primitive; keep the primitive itself';
  if (types.isWeakMap(value) || types.isWeakSet(value) || value instanceof WeakRef)
    return `is a ${className(value)}, which cannot be listed; keep a Map or a Set`;
  if (Symbol.asyncIterator in value || (Symbol.iterator in value && 'next' in value))
    return 'is an iterator or a stream; keep what it gives, or make a payload of its bytes';
  const name = className(value);
  if (name === 'Object' || name === '') return 'is an object with a prototype of its own; keep a plain object';
  return `is an instance of ${name}; register the class in \`types\`, or keep a plain object`;
}

function className(value: object): string {
  // The descriptor, because reading `constructor` could run a getter.
  for (let proto = Object.getPrototypeOf(value); proto !== null; proto = Object.getPrototypeOf(proto)) {
    const found: unknown = Object.getOwnPropertyDescriptor(proto, 'constructor')?.value;
    if (typeof found === 'function') return found.name;
  }
  return '';
}
