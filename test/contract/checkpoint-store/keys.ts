import { type KeyRing, localKeys } from '../../../lambda/checkpoints/encryption/key-ring.ts';

const bytes = (fill: number) => new Uint8Array(32).fill(fill);

/** A key ring of keys that are one byte, repeated. */
export const keysOf = (current: string, keys: Readonly<Record<string, number>>): KeyRing =>
  localKeys({ current, keys: Object.fromEntries(Object.entries(keys).map(([name, fill]) => [name, bytes(fill)])) });

/** The keys of a test that needs only some. */
export const keys = keysOf('a', { a: 1 });
