import { toPartition } from '../core/ids.ts';
import { MAX_INLINE_PAYLOAD_BYTES } from '../http/limits.ts';
import { HttpError } from '../http/problem.ts';
import { SAFE_IMAGE_EXTENSIONS } from '../http/safe-images.ts';
import type { Operator, PayloadSource } from '../operator/operator.ts';
import type { SignedUrls } from '../storage/ports.ts';
import type { ResponseDescription, RouteRequest } from './route.ts';

/** The part of a request that a download needs; the operator belongs to the tenant of the payload. */
type DownloadRequest = Pick<RouteRequest, 'api' | 'context' | 'operator'>;

/** A payload: its id, and the record that refers to it. */
interface DownloadTarget {
  readonly run: string;
  readonly from: PayloadSource;
  readonly id: string;
}

/** The responses of a download, for the OpenAPI description. */
export const DOWNLOAD_RESPONSES: Readonly<Record<number, ResponseDescription>> = {
  200: { description: 'The bytes of the payload', types: ['application/octet-stream', 'image/*'] },
  302: {
    description: 'The payload is at a signed URL that is valid for a few minutes',
    headers: { location: 'A signed URL' },
  },
};

/**
 * Responds with a payload: safe images inline, anything else as an attachment that browsers do not open. A payload that is
 * too large for a Lambda response is a redirect to a signed URL.
 */
export async function downloadPayload(request: DownloadRequest, { run, from, id }: DownloadTarget): Promise<Response> {
  const { api, context, operator } = request;
  const payload = await operator.payload(run, from, id);
  const { size = 0 } = payload;
  if (api.signedUrls && size > MAX_INLINE_PAYLOAD_BYTES)
    return redirectToSignedUrl(api.signedUrls, operator, run, id, size);
  const extension = SAFE_IMAGE_EXTENSIONS.get(payload.type?.toLowerCase() ?? '');
  const name = id.replace(/[^\w-]/g, '') || 'payload';
  const headers = {
    'content-type': (extension && payload.type?.toLowerCase()) ?? 'application/octet-stream',
    'content-disposition': extension ? `inline; filename="${name}.${extension}"` : `attachment; filename="${name}"`,
    'content-length': String(size),
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  };
  if (context.req.method === 'HEAD') return new Response(null, { headers });
  // A payload that fits in memory is verified before its first byte is sent.
  const body = size <= MAX_INLINE_PAYLOAD_BYTES ? await payload.bytes() : ReadableStream.from(payload.stream());
  return new Response(body, { headers });
}

async function redirectToSignedUrl(
  urls: SignedUrls,
  operator: Operator,
  run: string,
  id: string,
  size: number,
): Promise<Response> {
  if ((await operator.run(run)).encrypted) throw payloadTooLarge(size);
  const location = await urls.get(toPartition(operator.tenant, run), id);
  return new Response(null, { status: 302, headers: { location, 'referrer-policy': 'no-referrer' } });
}

const payloadTooLarge = (size: number): HttpError =>
  new HttpError(
    413,
    'TOO_LARGE',
    `The payload has ${size} bytes and is encrypted; the API returns at most ${MAX_INLINE_PAYLOAD_BYTES}. Read it with the waitstate package, in an account that can use its key.`,
  );
