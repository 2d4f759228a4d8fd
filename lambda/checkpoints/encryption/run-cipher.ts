import { createHash, type Hash, type Hmac } from 'node:crypto';

/** How the bytes of one run are closed and opened: AES-256-GCM under the run's data key, or not at all. */
export interface RunCipher {
  readonly isEncrypted: boolean;
  /** SHA-256, under the run's key where there is one, so that a hash says nothing about what it is of. */
  hash(): Hash | Hmac;
  /** `about` names where the bytes belong; they open nowhere else. */
  encrypt(bytes: Uint8Array, aad: string): Uint8Array;
  decrypt(bytes: Uint8Array, aad: string): Uint8Array;
  encryptStream(content: AsyncIterable<Uint8Array>, aad: string): AsyncIterable<Uint8Array>;
  decryptStream(content: AsyncIterable<Uint8Array>, aad: string): AsyncIterable<Uint8Array>;
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
