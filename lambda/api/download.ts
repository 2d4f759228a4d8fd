import { toPartition } from '../core/ids.ts';
import { MAX_INLINE_PAYLOAD_BYTES } from '../http/limits.ts';
import { HttpError } from '../http/problem.ts';
import { SAFE_IMAGE_EXTENSIONS } from '../http/safe-images.ts';
import type { Operator, PayloadSource } from '../operator/operator.ts';
import type { SignedUrls } from '../storage/ports.ts';
import type { ResponseDescription, RouteRequest } from './route.ts';

/** What of a request matters when a payload is downloaded; the desk is that of the payload's tenant. */
type Downloading = Pick<RouteRequest, 'api' | 'context' | 'operator'>;

/** Which payload: its id, and what points at it. */
interface Download {
  readonly run: string;
  readonly from: PayloadSource;
  readonly id: string;
}

/** What is answered, described. */
export const DOWNLOAD_RESPONSES: Readonly<Record<number, ResponseDescription>> = {
  200: { description: 'Its bytes', types: ['application/octet-stream', 'image/*'] },
  302: { description: 'Where its bytes are, for a few minutes', headers: { location: 'A signed URL' } },
};

/**
 * A payload as an answer: a picture that is safe to draw, and anything else as a file that no browser opens by itself. What
 * is too large for Lambda is found at a signed URL.
 */
export async function downloadPayload(request: Downloading, { run, from, id }: Download): Promise<Response> {
  const { api, context, operator } = request;
  const payload = await operator.payload(run, from, id);
  const { size = 0 } = payload;
  if (api.signedUrls && size > MAX_INLINE_PAYLOAD_BYTES) return elsewhere(api.signedUrls, operator, run, id, size);
  const extension = SAFE_IMAGE_EXTENSIONS.get(payload.type?.toLowerCase() ?? '');
  const name = id.replace(/[^\w-]/g, '') || 'payload';
  const headers = {
    'content-type': (extension && payload.type?.toLowerCase()) ?? 'application/octet-stream',
    'content-disposition': extension ? `inline; filename="${name}.${extension}"` : `attachment; filename="${name}"`,
    'content-length': String(size),
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  };
  if (context.req.method === 'HEAD') return new Response(null, { headers });
  // What fits in memory is proven before its first byte is answered.
  const body = size <= MAX_INLINE_PAYLOAD_BYTES ? await payload.bytes() : ReadableStream.from(payload.stream());
  return new Response(body, { headers });
}

async function elsewhere(
  urls: SignedUrls,
  operator: Operator,
  run: string,
  id: string,
  size: number,
): Promise<Response> {
  if ((await operator.run(run)).encrypted) throw tooLarge(size);
  const location = await urls.get(toPartition(operator.tenant, run), id);
  return new Response(null, { status: 302, headers: { location, 'referrer-policy': 'no-referrer' } });
}

const tooLarge = (size: number): HttpError =>
  new HttpError(
    413,
    'TOO_LARGE',
    `The payload has ${size} bytes and is encrypted; here at most ${MAX_INLINE_PAYLOAD_BYTES} can be had. Read it with the package, where its key is.`,
  );
