/**
 * Encodes an id as one path segment. An id of letters, digits and `-_.~` that starts with neither `.` nor `~` stays as it
 * is; any other id starts with `~`, and each byte other than letters, digits, `-` and `_` becomes `~` and two hex digits.
 * Unlike percent-encoding, no gateway or browser decodes this, splits at it, or resolves it as a relative path.
 */
export const encodePathId = (id: string): string => (/^[\w-][\w.~-]*$/.test(id) ? id : `~${escapeBytes(id)}`);

// Without `Buffer`, because browsers use it too.
const escapeBytes = (id: string): string =>
  Array.from(new TextEncoder().encode(id), (byte) => {
    const character = String.fromCharCode(byte);
    return /[\w-]/.test(character) ? character : `~${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }).join('');
