import { createHash, type Hash, type Hmac } from 'node:crypto';
import type { RunContext } from '../context.ts';
import type { Keyed } from '../format/meta.ts';

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

/** What keys are handled by; loaded only by those who encrypt. */
export const runKeys = () => import('./run-key.ts');

/** How the bytes of a run are opened, by what its head says. */
export async function sealingFor(at: RunContext, head: Keyed): Promise<Sealing> {
  return at.keys || head.key || head.shredded ? (await runKeys()).sealingOf(at, head) : notSealed;
}

/** Bytes as they are. */
export const notSealed: Sealing = {
  encrypted: false,
  hash: () => createHash('sha256'),
  seal: (bytes) => bytes,
  open: (bytes) => bytes,
  sealStream: (content) => content,
  openStream: (content) => content,
};
