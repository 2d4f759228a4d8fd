import { invalidInput } from './invalid-input.ts';

/** The maximum length of an escaped id. */
export const MAX_ID_BYTES = 256;

/** The partition of a run. Both ids are escaped, so `/` is always the separator and no two runs share a partition. */
export const toPartition = (tenant: string, run: string): string =>
  `${escapeId('tenant', tenant)}/${escapeId('run', run)}`;

/** The tenant and the run of a partition. */
export function parsePartition(partition: string): { readonly tenant: string; readonly run: string } {
  const [tenant = '', run = ''] = partition.split('/').map(unescapeId);
  return { tenant, run };
}

/** The original of an escaped id; text that is not valid escaping is returned unchanged. */
export function unescapeId(escaped: string): string {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped;
  }
}

/**
 * Escapes an id for use in a key, or rejects it. Letters, digits and `-_.~` stay; everything else is percent-encoded.
 */
export function escapeId(what: string, id: unknown): string {
  if (typeof id !== 'string' || id === '') throw invalidInput(`The ${what} id`, 'text of at least one character', id);
  if (!id.isWellFormed())
    throw invalidInput(`The ${what} id`, 'well-formed Unicode, without half of a surrogate pair', id);
  // An id of only dots would act as a relative path.
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
