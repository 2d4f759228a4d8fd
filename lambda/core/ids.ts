import { invalidInput } from './invalid-input.ts';

/** The longest id, escaped. */
export const MAX_ID_BYTES = 256;

/**
 * The key of everything that belongs to one run. Both parts are escaped, so that no two pairs of ids share a partition
 * and `/` is only ever the separator.
 */
export const toPartition = (tenant: string, run: string): string =>
  `${escapeId('tenant', tenant)}/${escapeId('run', run)}`;

/** The tenant and run that a partition was made of. */
export function parsePartition(partition: string): { readonly tenant: string; readonly run: string } {
  const [tenant = '', run = ''] = partition.split('/').map(unescapeId);
  return { tenant, run };
}

/** The id that was escaped; what nobody escaped comes back as it is. */
export function unescapeId(escaped: string): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped;
  }
}

/**
 * Escapes an id for use in a key, or refuses it. Letters, digits and `-_.~` stay; everything else is percent-encoded.
 */
export function escapeId(what: string, id: unknown): string {
  if (typeof id !== 'string' || id === '') throw invalidInput(`The ${what} id`, 'text of at least one character', id);
  if (!id.isWellFormed())
    throw invalidInput(`The ${what} id`, 'well-formed Unicode, without half of a surrogate pair', id);
  // Dots alone would be steps in a path.
  const unsafe = /^\.+$/.test(id) ? /\./g : /[!'()*]/g;
  const escaped = encodeURIComponent(id).replace(unsafe, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  if (escaped.length > MAX_ID_BYTES) {
    throw invalidInput(
      `The ${what} id`,
      `at most ${MAX_ID_BYTES} bytes after escaping`,
      `${escaped.length} bytes, ${id.slice(0, 40)}…`,
    );
  }
  return escaped;
}
