import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { damagedError } from '../run-errors.ts';
import type { RunCipher } from './run-cipher.ts';

// A stream is sealed frame by frame, so that no more than one frame is in memory and nothing unproven is handed out.
// The frame's number and whether it is the last are authenticated: frames cannot be left out, repeated, swapped or cut
// off.
const FRAME = 1 << 20;
const OVERHEAD = 28;

/** AES-256-GCM under one key, which must be of 32 bytes. */
export function aesGcmCipher(key: Uint8Array): RunCipher {
  const open = (bytes: Uint8Array, about: string): Uint8Array => {
    try {
      return decryptBytes(key, bytes, about);
    } catch (cause) {
      throw damagedError(
        `What is stored as ${about.split('\n', 2).join(' ')}`,
        'its encryption does not open: it was altered, moved or cut off',
        cause,
      );
    }
  };
  return {
    isEncrypted: true,
    hash: () => createHmac('sha256', key),
    encrypt: (bytes, about) => encryptBytes(key, bytes, about),
    decrypt: open,
    async *encryptStream(content, about) {
      for await (const { bytes, index, last } of frames(content, FRAME)) {
        yield encryptBytes(key, bytes, frameOf(about, index, last));
      }
    },
    async *decryptStream(content, about) {
      for await (const { bytes, index, last } of frames(content, FRAME + OVERHEAD)) {
        yield open(bytes, frameOf(about, index, last));
      }
    },
  };
}

const frameOf = (about: string, index: number, last: boolean): string => `${about}\n${index}${last ? ' last' : ''}`;

/** Cuts a stream into frames of one size; the last one may be shorter, and there is always one. */
async function* frames(content: AsyncIterable<Uint8Array>, size: number) {
  let pieces: Uint8Array[] = [];
  let held = 0;
  let index = 0;
  for await (const piece of content) {
    let rest = piece;
    // Only a byte beyond a full frame shows that the frame is not the last.
    while (held + rest.length > size) {
      const room = size - held;
      yield { bytes: Buffer.concat([...pieces, rest.subarray(0, room)]), index: index++, last: false };
      rest = rest.subarray(room);
      pieces = [];
      held = 0;
    }
    if (rest.length > 0) {
      pieces.push(rest);
      held += rest.length;
    }
  }
  yield { bytes: Buffer.concat(pieces), index, last: true };
}

const NONCE = 12;
const TAG = 16;

/** AES-256-GCM: nonce, ciphertext, tag; `about` is authenticated with it. */
export function encryptBytes(key: Uint8Array, bytes: Uint8Array, about: string): Uint8Array {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about));
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

/** The reverse of `encryptBytes`; throws when a bit of the bytes or of `about` is another. */
export function decryptBytes(key: Uint8Array, sealed: Uint8Array, about: string): Uint8Array {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, NONCE), { authTagLength: TAG })
    .setAAD(Buffer.from(about))
    .setAuthTag(sealed.subarray(sealed.length - TAG));
  return Buffer.concat([decipher.update(sealed.subarray(NONCE, sealed.length - TAG)), decipher.final()]);
}
