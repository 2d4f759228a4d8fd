import { invalidInput } from '../core/invalid-input.ts';

/**
 * An id as a part of a path. What is made of letters, digits and `-_.~` is itself, unless it begins with one of the last
 * two; of anything else `~` is put in front, and every other byte becomes `~` and two hex digits. Unlike percent signs,
 * no gateway or browser decodes that, splits at it, or takes it for a step up.
 */
export const encodePathId = (id: string): string => (/^[\w-][\w.~-]*$/.test(id) ? id : `~${escaped(id)}`);

const escaped = (id: string): string =>
  Array.from(Buffer.from(id), (byte) => {
    const character = String.fromCharCode(byte);
    return /[\w-]/.test(character) ? character : `~${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');

/** The id that a part of a path stands for; it may be percent-encoded, as URLs are. */
export function decodePathId(part: string): string {
  const plain = decoded(part);
  const id = plain?.startsWith('~') ? decoded(unescaped(plain.slice(1))) : plain;
  if (id === undefined || id === '')
    throw invalidInput('An id in a path', 'percent-encoded, or ~ and an escaped one', part);
  return id;
}

const unescaped = (text: string): string => encodeURIComponent(text).replace(/~([0-9A-Fa-f]{2})?/g, '%$1');

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
