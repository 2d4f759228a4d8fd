import { invalidInput } from '../../core/invalid-input.ts';
import type { RunContext } from '../context.ts';
import type { PayloadRef } from '../document/payloads.ts';
import type { RunCipher } from '../encryption/run-cipher.ts';
import { randomId } from '../format/records.ts';
import { type PayloadLocation, payloadAad, payloadMissing, readVerified } from './payload-bytes.ts';

/** Finds a known payload of the run by its hash. */
type FindSameContent = (sha256: string) => PayloadRef | undefined;

/** Stores the content of a stream, unless the run already has the same content. */
export async function storeStream(
  at: RunContext,
  cipher: RunCipher,
  content: AsyncIterable<Uint8Array>,
  findSameContent: FindSameContent,
): Promise<PayloadRef> {
  const id = randomId();
  const hash = cipher.hash();
  let size = 0;
  const hashedContent = (async function* () {
    for await (const chunk of content) {
      if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) {
        throw invalidInput('Each chunk of the stream of a payload', 'a Uint8Array', chunk);
      }
      // Copied, because a reader of files may reuse one buffer for all chunks.
      const bytes = Buffer.from(chunk);
      hash.update(bytes);
      size += bytes.length;
      yield bytes;
    }
  })();
  await at.payloads.put(at.partition, id, cipher.encryptStream(hashedContent, payloadAad(at.partition, id)));
  const sha256 = hash.digest('base64url');
  const known = findSameContent(sha256);
  if (known) await at.payloads.remove(at.partition, [id]);
  return known ?? { id, sha256, size };
}

/** Stores a payload of another run for this one: copied by the storage where neither side is encrypted. */
export async function storeCopy(
  at: RunContext,
  cipher: RunCipher,
  location: PayloadLocation,
  findSameContent: FindSameContent,
): Promise<PayloadRef> {
  if (!canCopy(location, at, cipher)) return storeStream(at, cipher, readVerified(location), findSameContent);
  return findSameContent(location.ref.sha256) ?? copyPayload(at, location);
}

/** Whether the storage can copy the payload, because neither side is encrypted. */
const canCopy = (location: PayloadLocation, at: RunContext, cipher: RunCipher): boolean =>
  location.store === at.payloads && !location.cipher.isEncrypted && !cipher.isEncrypted;

async function copyPayload(at: RunContext, { partition, ref }: PayloadLocation): Promise<PayloadRef> {
  const id = randomId();
  if (await at.payloads.copy({ partition, id: ref.id }, { partition: at.partition, id })) return { ...ref, id };
  throw payloadMissing(partition, ref);
}
