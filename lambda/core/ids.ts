import { HoldpointError } from './errors.ts';

export const MAX_ID_BYTES = 256;

/**
 * The key of everything that belongs to one run. Both parts are escaped, so that no two pairs of ids share a partition
 * and `/` is only ever the separator.
 */
export const partitionOf = (tenant: string, run: string): string =>
  `${escapeId('tenant', tenant)}/${escapeId('run', run)}`;

/** The tenant and run that a partition was made of. */
export function idsOf(partition: string): { readonly tenant: string; readonly run: string } {
  const [tenant = '', run = ''] = partition.split('/').map(decodeURIComponent);
  return { tenant, run };
}

/** Escapes an id for use in a key, or refuses it. Letters, digits and `-_.~` stay; everything else is percent-encoded. */
export function escapeId(what: string, id: unknown): string {
  if (typeof id !== 'string' || id === '') throw invalid(what, 'a string with at least one character', id);
  if (!id.isWellFormed()) throw invalid(what, 'well-formed Unicode (it has half of a surrogate pair)', id);
  const escaped = encodeURIComponent(id).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  if (escaped.length > MAX_ID_BYTES) {
    throw invalid(
      what,
      `at most ${MAX_ID_BYTES} bytes after escaping (it has ${escaped.length})`,
      `${id.slice(0, 40)}…`,
    );
  }
  return escaped;
}

function invalid(what: string, expected: string, found: unknown): HoldpointError {
  const shown = typeof found === 'string' ? JSON.stringify(found) : String(found);
  return new HoldpointError('INVALID_INPUT', `The ${what} id must be ${expected}; found ${shown}.`);
}
