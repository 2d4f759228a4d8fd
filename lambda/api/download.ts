import type { Context } from 'hono';
import type { Payload } from '../checkpoints/payload.ts';
import { partitionOf } from '../core/ids.ts';
import type { SignedUrls } from '../storage/s3/signed-urls.ts';
import type { ApiEnv } from './environment.ts';
import { MOST_PAYLOAD } from './limits.ts';
import { HttpError } from './problem.ts';

// What a browser draws and never runs. SVG is a document with scripts.
const INLINE = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
  ['image/avif', 'avif'],
]);

/** Where a payload is, for those who may have it. */
export interface Download {
  readonly payload: Payload;
  readonly tenant: string;
  readonly run: string;
  readonly id: string;
  /** Whether its bytes are encrypted where they are. */
  isEncrypted(): Promise<boolean>;
  readonly signedUrls: SignedUrls | undefined;
}

/**
 * A payload as an answer: an image that is safe to draw, and anything else as a file that no browser opens by itself. What
 * is too large for Lambda is found at a signed URL.
 */
export async function downloaded(context: Context<ApiEnv>, download: Download): Promise<Response> {
  const { payload, tenant, run, id, signedUrls } = download;
  const { size = 0 } = payload;
  if (signedUrls && size > MOST_PAYLOAD) {
    if (await download.isEncrypted()) throw tooLarge(size);
    const location = await signedUrls.get(partitionOf(tenant, run), id);
    return new Response(null, { status: 302, headers: { location, 'referrer-policy': 'no-referrer' } });
  }
  const extension = INLINE.get(payload.type?.toLowerCase() ?? '');
  const name = id.replace(/[^\w-]/g, '') || 'payload';
  const headers = {
    'content-type': (extension && payload.type?.toLowerCase()) ?? 'application/octet-stream',
    'content-disposition': extension ? `inline; filename="${name}.${extension}"` : `attachment; filename="${name}"`,
    'content-length': String(size),
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  };
  if (context.req.method === 'HEAD') return new Response(null, { headers });
  // What fits in memory is proven before its first byte is answered.
  const body = size <= MOST_PAYLOAD ? await payload.bytes() : ReadableStream.from(payload.stream());
  return new Response(body, { headers });
}

const tooLarge = (size: number): HttpError =>
  new HttpError(
    413,
    'TOO_LARGE',
    `The payload has ${size} bytes and is encrypted; here at most ${MOST_PAYLOAD} can be had. Read it with the package, where its key is.`,
  );
