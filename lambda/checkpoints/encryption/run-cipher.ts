import { createHash, type Hash, type Hmac } from 'node:crypto';

/** Encrypts and decrypts the bytes of one run: with AES-256-GCM and the run's data key, or not at all. */
export interface RunCipher {
  readonly isEncrypted: boolean;
  /** SHA-256, keyed with the run's data key if there is one, so that a hash reveals nothing about the content. */
  hash(): Hash | Hmac;
  /** `aad` names where the bytes belong; they cannot be decrypted anywhere else. */
  encrypt(bytes: Uint8Array, aad: string): Uint8Array;
  decrypt(bytes: Uint8Array, aad: string): Uint8Array;
  encryptStream(content: AsyncIterable<Uint8Array>, aad: string): AsyncIterable<Uint8Array>;
  decryptStream(content: AsyncIterable<Uint8Array>, aad: string): AsyncIterable<Uint8Array>;
}

/** A cipher that does not encrypt. */
export const plaintext: RunCipher = {
  isEncrypted: false,
  hash: () => createHash('sha256'),
  encrypt: (bytes) => bytes,
  decrypt: (bytes) => bytes,
  encryptStream: (content) => content,
  decryptStream: (content) => content,
};
