import type { RunContext } from '../checkpoints/engine.ts';
import { randomId } from '../checkpoints/engine.ts';
import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { SIGNED_URL_SECONDS, type SignedUrls } from '../storage/ports.ts';

const MOST_BYTES = 64 * 1024 * 1024;

/** A URL to put a state to that is too large for an invocation; what is not used is collected after a day. */
export async function createUpload(at: RunContext, signedUrls: SignedUrls | undefined): Promise<object> {
  if (!signedUrls || at.keys)
    throw new WaitstateError(
      'INVALID_INPUT',
      signedUrls
        ? 'Runs are encrypted here, and an upload would not be. Save it as `state`.'
        : 'There are no uploads here.',
    );
  const upload = `upload-${randomId()}`;
  return { upload, url: await signedUrls.put(at.partition, upload), expiresInSeconds: SIGNED_URL_SECONDS };
}

/** The JSON that was uploaded. */
export async function readUpload(at: RunContext, upload: string): Promise<unknown> {
  const content = await at.payloads.open(at.partition, upload);
  if (!content) throw invalidInput('`stateFrom`', `an upload of run "${at.run}" that has arrived`, upload);
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of content) {
    bytes += piece.length;
    if (bytes > MOST_BYTES) throw invalidInput('An upload', `at most ${MOST_BYTES} bytes`, 'more');
    pieces.push(piece);
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    throw invalidInput('An upload', 'JSON', `${bytes} bytes of something else`);
  }
}
