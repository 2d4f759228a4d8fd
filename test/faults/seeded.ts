// Not imported, because tests replace this module with one that uses this file.
const { createHash } = process.getBuiltinModule('node:crypto');

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Text that does not compress, the same for the same seed. */
export function noise(seed: number | string, length: number): string {
  const outputLength = Math.max(1, Math.ceil((length * 3) / 4));
  return createHash('shake256', { outputLength }).update(`${seed}`).digest('base64url').slice(0, length);
}

let seed = 0;
let drawn = 0;

/** Starts the ids and keys of the stores over from this seed. */
export function seedIds(to: number): void {
  seed = to;
  drawn = 0;
}

/**
 * Bytes that look random and are the same after the same `seedIds`. Ids are part of what is compressed: with other ids
 * a checkpoint may be kept in another way, and a failure could not be repeated.
 */
export function seededBytes(size: number): Buffer {
  return Buffer.from(noise(`${seed}:${drawn++}`, size * 2), 'base64url').subarray(0, size);
}
