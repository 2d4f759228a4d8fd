import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { damagedError } from '../run-errors.ts';
import type { RunCipher } from './run-cipher.ts';

// Streams are encrypted frame by frame, so that only one frame is in memory and no unauthenticated bytes are returned.
// The number of a frame and whether it is the last are authenticated: frames cannot be dropped, repeated, swapped or
// truncated.
const FRAME_BYTES = 1 << 20;
const FRAME_OVERHEAD_BYTES = 28;

/** AES-256-GCM with one key of 32 bytes. */
export function aesGcmCipher(key: Uint8Array): RunCipher {
  const decrypt = (bytes: Uint8Array, aad: string): Uint8Array => {
    try {
      return decryptBytes(key, bytes, aad);
    } catch (cause) {
      throw damagedError(
        `The data stored as ${aad.split('\n', 2).join(' ')}`,
        'decryption failed, so it was altered, moved or truncated',
        cause,
      );
    }
  };
  return {
    isEncrypted: true,
    hash: () => createHmac('sha256', key),
    encrypt: (bytes, aad) => encryptBytes(key, bytes, aad),
    decrypt,
    async *encryptStream(content, aad) {
      for await (const { bytes, index, last } of splitIntoFrames(content, FRAME_BYTES)) {
        yield encryptBytes(key, bytes, frameAad(aad, index, last));
      }
    },
    async *decryptStream(content, aad) {
      for await (const { bytes, index, last } of splitIntoFrames(content, FRAME_BYTES + FRAME_OVERHEAD_BYTES)) {
        yield decrypt(bytes, frameAad(aad, index, last));
      }
    },
  };
}

const frameAad = (aad: string, index: number, last: boolean): string => `${aad}\n${index}${last ? ' last' : ''}`;

/** Splits a stream into frames of one size; the last may be shorter, and there is always at least one. */
async function* splitIntoFrames(content: AsyncIterable<Uint8Array>, size: number) {
  let buffered: Uint8Array[] = [];
  let bufferedBytes = 0;
  let index = 0;
  for await (const chunk of content) {
    let remaining = chunk;
    // A full frame is known not to be the last only when another byte follows.
    while (bufferedBytes + remaining.length > size) {
      const room = size - bufferedBytes;
      yield { bytes: Buffer.concat([...buffered, remaining.subarray(0, room)]), index: index++, last: false };
      remaining = remaining.subarray(room);
      buffered = [];
      bufferedBytes = 0;
    }
    if (remaining.length > 0) {
      buffered.push(remaining);
      bufferedBytes += remaining.length;
    }
  }
  yield { bytes: Buffer.concat(buffered), index, last: true };
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts with AES-256-GCM and authenticates `aad`; returns nonce, ciphertext and tag. */
export function encryptBytes(key: Uint8Array, bytes: Uint8Array, aad: string): Uint8Array {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(aad));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** The reverse of `encryptBytes`; throws when any bit of the bytes or of `aad` differs. */
export function decryptBytes(key: Uint8Array, encrypted: Uint8Array, aad: string): Uint8Array {
  const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(aad))
    .setAuthTag(encrypted.subarray(encrypted.length - TAG_BYTES));
  return Buffer.concat([
    decipher.update(encrypted.subarray(NONCE_BYTES, encrypted.length - TAG_BYTES)),
    decipher.final(),
  ]);
}
