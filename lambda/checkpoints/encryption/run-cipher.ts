import { createHash, type Hash, type Hmac } from 'node:crypto';
import type { RunContext } from '../context.ts';
import type { HeadKeyFields } from '../format/meta.ts';

/** How the bytes of one run are closed and opened: AES-256-GCM under the run's data key, or not at all. */
export interface RunCipher {
  readonly isEncrypted: boolean;
  /** SHA-256, under the run's key where there is one, so that a hash says nothing about what it is of. */
  hash(): Hash | Hmac;
  /** `about` names where the bytes belong; they open nowhere else. */
  encrypt(bytes: Uint8Array, about: string): Uint8Array;
  decrypt(bytes: Uint8Array, about: string): Uint8Array;
  encryptStream(content: AsyncIterable<Uint8Array>, about: string): AsyncIterable<Uint8Array>;
  decryptStream(content: AsyncIterable<Uint8Array>, about: string): AsyncIterable<Uint8Array>;
}

/** What keys are handled by; loaded only by those who encrypt. */
export const importRunKey = () => import('./run-key.ts');

/** How the bytes of a run are opened, by what its head says. */
export async function cipherFor(at: RunContext, head: HeadKeyFields): Promise<RunCipher> {
  return at.keys || head.key || head.shredded ? (await importRunKey()).unwrapCipher(at, head) : plaintext;
}

/** Bytes as they are. */
export const plaintext: RunCipher = {
  isEncrypted: false,
  hash: () => createHash('sha256'),
  encrypt: (bytes) => bytes,
  decrypt: (bytes) => bytes,
  encryptStream: (content) => content,
  decryptStream: (content) => content,
};
