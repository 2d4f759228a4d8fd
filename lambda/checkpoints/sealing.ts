import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { openBytes, sealBytes } from './keys.ts';
import { damaged } from './run-errors.ts';

/** How the bytes of one run are closed and opened: AES-256-GCM under the run's data key, or not at all. */
export interface Sealing {
  readonly encrypted: boolean;
  /** SHA-256, under the run's key where there is one, so that a hash says nothing about what it is of. */
  hash(): Hash | Hmac;
  /** `about` names where the bytes belong; they open nowhere else. */
  seal(bytes: Uint8Array, about: string): Uint8Array;
  open(bytes: Uint8Array, about: string): Uint8Array;
  sealStream(content: AsyncIterable<Uint8Array>, about: string): AsyncIterable<Uint8Array>;
  openStream(content: AsyncIterable<Uint8Array>, about: string): AsyncIterable<Uint8Array>;
}

export const notSealed: Sealing = {
  encrypted: false,
  hash: () => createHash('sha256'),
  seal: (bytes) => bytes,
  open: (bytes) => bytes,
  sealStream: (content) => content,
  openStream: (content) => content,
};

// A stream is sealed frame by frame, so that no more than one frame is in memory and nothing unproven is handed out. The frame's number
// and whether it is the last are authenticated: frames cannot be left out, repeated, swapped or cut off.
const FRAME = 1 << 20;
const OVERHEAD = 28;

export function sealedBy(key: Uint8Array): Sealing {
  const open = (bytes: Uint8Array, about: string): Uint8Array => {
    try {
      return openBytes(key, bytes, about);
    } catch (cause) {
      throw damaged(
        `What is stored as ${about.split('\n', 2).join(' ')}`,
        'its encryption does not open: it was altered, moved or cut off',
        cause,
      );
    }
  };
  return {
    encrypted: true,
    hash: () => createHmac('sha256', key),
    seal: (bytes, about) => sealBytes(key, bytes, about),
    open,
    async *sealStream(content, about) {
      for await (const { bytes, index, last } of frames(content, FRAME)) {
        yield sealBytes(key, bytes, frameOf(about, index, last));
      }
    },
    async *openStream(content, about) {
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
