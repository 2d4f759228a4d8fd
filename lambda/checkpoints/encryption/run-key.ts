import { randomBytes } from 'node:crypto';
import { WaitstateError } from '../../core/errors.ts';
import type { RunContext } from '../context.ts';
import type { HeadKeyFields } from '../format/meta.ts';
import { runShredded } from '../run-errors.ts';
import { aesGcmCipher } from './aes-gcm.ts';
import type { KeyContext, WrappedKey } from './key-ring.ts';
import { plaintext, type RunCipher } from './run-cipher.ts';

/** The cipher of a run. The data key is cached, so the key ring is called once per run. */
export async function unwrapCipher(at: RunContext, head: HeadKeyFields): Promise<RunCipher> {
  if (head.shredded) {
    at.cache.ciphers.delete(at.partition);
    throw runShredded(at.run);
  }
  if (!head.key) {
    if (!at.keys || at.acceptUnencrypted) return plaintext;
    throw new WaitstateError(
      'RUN_NOT_ENCRYPTED',
      `Run "${at.run}" is not encrypted, but this store has keys. If the run is older than the keys, create the store with \`acceptUnencrypted: true\`.`,
      { scope: 'run' },
    );
  }
  const cached = at.cache.ciphers.get(at.partition);
  if (cached?.wrappedKeyId === wrappedKeyId(head.key, head.owner)) return cached.cipher;
  return cacheCipher(at, head.key, head.owner, await unwrapDataKey(at, head));
}

/** Creates a data key and wraps it for the head; without keys, the run is not encrypted. */
export async function createRunKey(
  at: RunContext,
  owner: string | undefined,
): Promise<{ cipher: RunCipher; key: WrappedKey | undefined }> {
  if (!at.keys) return { cipher: plaintext, key: undefined };
  const bytes = randomBytes(32);
  const key = await at.keys.wrap(bytes, toKeyContext(at, owner));
  return { cipher: cacheCipher(at, key, owner, bytes), key };
}

/** Wraps the run's data key with the current key of the key ring, for this owner. */
export async function rewrapKey(at: RunContext, head: HeadKeyFields, owner: string | undefined): Promise<WrappedKey> {
  const bytes = await unwrapDataKey(at, head);
  const key = await (at.keys ?? throwKeysMissing(at, head)).wrap(bytes, toKeyContext(at, owner));
  cacheCipher(at, key, owner, bytes);
  return key;
}

async function unwrapDataKey(at: RunContext, head: HeadKeyFields): Promise<Uint8Array> {
  if (!at.keys || !head.key) return throwKeysMissing(at, head);
  return at.keys.unwrap(head.key, toKeyContext(at, head.owner));
}

function cacheCipher(at: RunContext, key: WrappedKey, owner: string | undefined, bytes: Uint8Array): RunCipher {
  const cipher = aesGcmCipher(bytes);
  at.cache.ciphers.set(at.partition, { wrappedKeyId: wrappedKeyId(key, owner), cipher });
  return cipher;
}

// The owner is part of the id: unwrapping a key for one owner does not authorize another.
const wrappedKeyId = ({ keyId, ciphertext }: WrappedKey, owner: string | undefined): string =>
  JSON.stringify([keyId, ciphertext, owner]);

const toKeyContext = (at: RunContext, owner: string | undefined): KeyContext => ({
  tenant: at.tenant,
  run: at.run,
  owner: owner ?? '',
});

function throwKeysMissing(at: RunContext, head: HeadKeyFields): never {
  const key = head.key ? ` with key "${head.key.keyId}"` : '';
  throw new WaitstateError(
    'KEY_UNAVAILABLE',
    `Run "${at.run}" is encrypted${key}, but this store has no keys. Pass \`keys\`.`,
  );
}
