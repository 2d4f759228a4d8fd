import { handle, type LambdaEvent } from 'hono/aws-lambda';
import { createApi } from '../../api/app.ts';
import type { ContextFactory } from '../../checkpoints/engine.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { Identify } from '../../http/caller.ts';
import { exceedsEscapedBytes } from '../../http/escaped-bytes.ts';
import { MAX_LAMBDA_RESPONSE_BYTES } from '../../http/limits.ts';
import { encodePathId } from '../../http/path-id.ts';
import { HttpError, toProblem } from '../../http/problem.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { Telemetry } from '../../runtime/telemetry.ts';
import type { SignedUrls } from '../../storage/ports.ts';
import type { Agents } from '../agents.ts';

export interface ApiHandlerOptions {
  readonly contexts: ContextFactory;
  readonly identify: Identify;
  readonly agents: Agents;
  readonly signedUrls: SignedUrls | undefined;
  /** The origins of sites whose pages may call the API. @default none */
  readonly corsOrigins?: readonly string[];
  readonly telemetry: Telemetry;
  readonly clock?: Clock;
}

/** The event of an API Gateway HTTP API, payload format 2.0. */
export interface HttpEvent {
  readonly rawPath: string;
  readonly requestContext: { readonly domainName?: string; readonly http: { readonly method: string } };
  readonly [field: string]: unknown;
}

/** The response for API Gateway. */
export interface HttpResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/** Creates the handler behind the HTTP API, which serves approval links, API and console. */
export function createApiHandler({ contexts, agents, clock = systemClock, ...options }: ApiHandlerOptions) {
  const { telemetry } = options;
  const { log } = telemetry;
  const app = createApi({
    runtime: { contexts, clock, random: Math.random, log },
    ...options,
    agents: async () => [...agents].map(([name, { tenants }]) => ({ name, ...omitUndefined({ tenants }) })),
  });
  const serve = handle(app);
  return (event: HttpEvent): Promise<HttpResponse> =>
    telemetry.runInvocation(async () => {
      const response = (await serve(normalizeEvent(event) as unknown as LambdaEvent)) as HttpResponse;
      // Lambda would fail the invocation, and the caller would only see a status of 500.
      if (!exceedsEscapedBytes(response.body, MAX_BODY_BYTES)) return response;
      telemetry.count('RequestFailed');
      log('error', 'A response is too large for Lambda.', { status: response.statusCode });
      return tooLarge();
    });
}

/** The rest of a response of Lambda is for its headers. */
const MAX_BODY_BYTES = MAX_LAMBDA_RESPONSE_BYTES - 64 * 1024;

function tooLarge(): HttpResponse {
  const detail = 'The response is too large for Lambda. Request a part of it.';
  const problem = toProblem(new HttpError(413, 'TOO_LARGE', detail));
  return {
    statusCode: 413,
    headers: { 'content-type': 'application/problem+json' },
    body: JSON.stringify(problem),
    isBase64Encoded: false,
  };
}

/**
 * Encodes the path of an event again. An HTTP API decodes `rawPath` despite its name, so a `?` or `%` in an id would
 * change the URL; a function URL does not decode it. Segments of dots are encoded as ids and never resolved, because
 * the gateway authorized the literal path. Bodies of GET and HEAD are dropped.
 */
function normalizeEvent(event: HttpEvent): HttpEvent {
  const { rawPath, requestContext, body, ...rest } = event;
  const { domainName = '', http } = requestContext;
  const isDecoded = !/\.lambda-url\.[\w-]+\.on\.aws$/.test(domainName);
  const encode = isDecoded ? encodeURIComponent : (part: string) => part.replaceAll('\\', '%5C');
  const encodeDots = (part: string) => (/^(\.|%2e){1,2}$/i.test(part) ? encodePathId(decodeURIComponent(part)) : part);
  const path = rawPath.toWellFormed().split('/').map(encode).map(encodeDots).join('/');
  const hasBody = body !== undefined && http.method !== 'GET' && http.method !== 'HEAD';
  return { ...rest, requestContext, rawPath: path, ...(hasBody && { body }) };
}
