import { invalidInput } from '../core/invalid-input.ts';

/**
 * Encodes an id as one path segment. An id of letters, digits and `-_.~` that starts with neither `.` nor `~` stays as it
 * is; any other id starts with `~`, and each byte other than letters, digits, `-` and `_` becomes `~` and two hex digits.
 * Unlike percent-encoding, no gateway or browser decodes this, splits at it, or resolves it as a relative path.
 */
export const encodePathId = (id: string): string => (/^[\w-][\w.~-]*$/.test(id) ? id : `~${escapeBytes(id)}`);

const escapeBytes = (id: string): string =>
  Array.from(Buffer.from(id), (byte) => {
    const character = String.fromCharCode(byte);
    return /[\w-]/.test(character) ? character : `~${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');

/** Decodes a path segment, which may also be percent-encoded, to its id. */
export function decodePathId(part: string): string {
  const plain = tryDecodeUri(part);
  const id = plain?.startsWith('~') ? tryDecodeUri(unescapeBytes(plain.slice(1))) : plain;
  if (id === undefined || id === '')
    throw invalidInput('An id in a path', 'percent-encoded, or ~ followed by an escaped id', part);
  return id;
}

const unescapeBytes = (text: string): string => encodeURIComponent(text).replace(/~([0-9A-Fa-f]{2})?/g, '%$1');

function tryDecodeUri(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
