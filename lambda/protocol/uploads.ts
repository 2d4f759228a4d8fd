import { type RunContext, randomId } from '../checkpoints/engine.ts';
import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { UPLOAD_ID_PREFIX } from '../storage/keys.ts';
import { SIGNED_URL_SECONDS, type SignedUrls } from '../storage/ports.ts';

const MAX_BYTES = 64 * 1024 * 1024;

/** Creates a URL for uploading a state that is too large for an invocation. Unused uploads are removed after a day. */
export async function createUpload(at: RunContext, signedUrls: SignedUrls | undefined): Promise<object> {
  if (!signedUrls || at.keys)
    throw new WaitstateError(
      'INVALID_INPUT',
      signedUrls
        ? 'Uploads are not available, because runs are encrypted and uploads are not. Pass the state as `state`.'
        : 'Uploads are not available, because there is no bucket. Pass the state as `state`.',
    );
  const upload = UPLOAD_ID_PREFIX + randomId();
  return { upload, url: await signedUrls.put(at.partition, upload), expiresIn: { seconds: SIGNED_URL_SECONDS } };
}

/** Reads an uploaded state. */
export async function readUpload(at: RunContext, upload: string): Promise<unknown> {
  const content = await at.payloads.open(at.partition, upload);
  if (!content) throw invalidInput('`stateFrom`', `the id of a finished upload of run "${at.run}"`, upload);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw invalidInput('An upload', `at most ${MAX_BYTES} bytes`, 'more');
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw invalidInput('An upload', 'JSON', `${bytes} bytes that are not JSON`);
  }
}
