import type { WaitstateError } from '../../core/errors.ts';
import type { PayloadStore } from '../../storage/ports.ts';
import type { RunContext } from '../context.ts';
import type { PayloadRef } from '../document/payloads.ts';
import type { RunCipher } from '../encryption/run-cipher.ts';
import { randomId } from '../format/records.ts';
import { damagedError } from '../run-errors.ts';

/** The location of the stored bytes of a payload. */
export interface PayloadLocation {
  readonly store: PayloadStore;
  readonly partition: string;
  readonly cipher: RunCipher;
  readonly ref: PayloadRef;
}

/** Stores bytes under a new random id; durable when it resolves. */
export async function storeBytes(at: RunContext, cipher: RunCipher, bytes: Uint8Array): Promise<PayloadRef> {
  const id = randomId();
  const aad = payloadAad(at.partition, id);
  await at.payloads.put(
    at.partition,
    id,
    cipher.isEncrypted ? await concatChunks(cipher.encryptStream(singleChunk(bytes), aad)) : bytes,
  );
  return { id, sha256: hashBytes(cipher, bytes), size: bytes.length };
}

/** Reads stored bytes and verifies them. */
export const readBytes = (at: RunContext, cipher: RunCipher, ref: PayloadRef): Promise<Uint8Array> =>
  concatChunks(readVerified({ store: at.payloads, partition: at.partition, cipher, ref }));

/** The stored bytes in chunks. The last chunk follows only after verification. */
export async function* readVerified({ store, partition, cipher, ref }: PayloadLocation): AsyncGenerator<Uint8Array> {
  const content = await store.open(partition, ref.id);
  if (!content) throw payloadMissing(partition, ref);
  const hash = cipher.hash();
  let size = 0;
  let buffered: Uint8Array | undefined;
  for await (const chunk of cipher.decryptStream(content, payloadAad(partition, ref.id))) {
    if (buffered) yield buffered;
    hash.update(chunk);
    size += chunk.length;
    buffered = chunk;
    if (size > ref.size) break;
  }
  if (size !== ref.size || hash.digest('base64url') !== ref.sha256) {
    throw damagedError(
      describePayload(partition, ref),
      `expected ${ref.size} bytes with hash ${ref.sha256}, found ${size} others`,
    );
  }
  if (buffered) yield buffered;
}

/** What the encryption of a payload authenticates. */
export const payloadAad = (partition: string, id: string): string => `${partition}\npayload ${id}`;

/** The hash of the bytes of a payload. */
export const hashBytes = (cipher: RunCipher, bytes: Uint8Array): string =>
  cipher.hash().update(bytes).digest('base64url');

const describePayload = (partition: string, { id }: PayloadRef): string => `Payload ${id} of "${partition}"`;

/** The error for a payload that is not in the storage. */
export const payloadMissing = (partition: string, ref: PayloadRef): WaitstateError =>
  damagedError(describePayload(partition, ref), 'it is missing in the storage');

async function* singleChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Joins chunks. */
export async function concatChunks(content: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}
