import { invalidInput } from '../core/invalid-input.ts';

export { encodePathId } from '../core/encode-path-id.ts';

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
