import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { createGuard, type Guard, problemResponse } from '../../dev/server/guard.ts';
import { LOOPBACK, listen } from '../../dev/server/listen.ts';
import { createSigner, type Sign } from './signing.ts';

export interface ProxyOptions {
  readonly apiUrl: string;
  /** @default any free port */
  readonly port?: number | undefined;
  readonly tenant: string;
  /** Signs requests to the API. @default with the credentials that the AWS SDK finds */
  readonly sign?: Sign;
}

export interface Proxy {
  /** Contains the key of the proxy. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts a proxy on the loopback address that signs requests to an API. Everyone who has the key in its URL acts with the
 * AWS credentials of the user who started it, so it has the same guard as the local server.
 */
export async function startProxy({ apiUrl, port, tenant, sign }: ProxyOptions): Promise<Proxy> {
  const signRequest = sign ?? (await createSigner(apiUrl));
  const key = randomBytes(32).toString('base64url');
  let guard: Guard | undefined;
  const server = createServer(
    getRequestListener(async (request, environment) => {
      const { incoming } = environment as HttpBindings;
      const response = guard?.check(request, incoming);
      if (response) return response;
      if (!guard?.identify(request)) return problemResponse(401, 'NOT_AUTHENTICATED', NO_KEY);
      return forward(request, apiUrl, signRequest);
    }),
  );
  const listening = await listen(server, port ?? 0, undefined);
  guard = createGuard({ key, port: listening, tenant });
  return {
    url: `http://${LOOPBACK}:${listening}/?key=${key}`,
    async close() {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
}

const NO_KEY = 'This request needs the key of the proxy. Open the URL that "waitstate console" printed.';

// The limit of API Gateway.
const MAX_BODY_BYTES = 10 * 1024 * 1024;

// Headers that belong to one connection, or only to the browser and this proxy.
const DROPPED_REQUEST_HEADERS =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|cookie|authorization|content-length|accept-encoding|expect|origin|referer|sec-fetch-.*|x-amz-.*|x-forwarded-.*)$/;
const DROPPED_RESPONSE_HEADERS =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|set-cookie|content-encoding|content-length|strict-transport-security|cache-control|x-amzn?-.*|apigw-requestid|date)$/;

/** Forwards a signed request, and streams the response back. */
async function forward(request: Request, apiUrl: string, sign: Sign): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const url = `${apiUrl.replace(/\/+$/, '')}${pathname}${search}`;
  const body = await readBody(request);
  if (body === 'too large')
    return problemResponse(413, 'TOO_LARGE', `A request body can have at most ${MAX_BODY_BYTES} bytes.`);
  const { method, signal } = request;
  try {
    const headers = new Headers(await sign({ url, method, body }));
    for (const [name, value] of request.headers) if (!DROPPED_REQUEST_HEADERS.test(name)) headers.set(name, value);
    // fetch would decompress the response, and its length would no longer match.
    headers.set('accept-encoding', 'identity');
    const response = await fetch(url, { method, headers, body: body ?? null, redirect: 'manual', signal });
    return new Response(response.body, { status: response.status, headers: responseHeaders(response, apiUrl) });
  } catch (error) {
    return problemResponse(502, 'UNEXPECTED', describeFailure(error));
  }
}

/** Reads the whole body, because the signature covers it. */
async function readBody(request: Request): Promise<Uint8Array<ArrayBuffer> | 'too large' | undefined> {
  if (!request.body) return undefined;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return 'too large';
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

function responseHeaders(response: Response, apiUrl: string): Headers {
  const headers = new Headers();
  for (const [name, value] of response.headers) if (!DROPPED_RESPONSE_HEADERS.test(name)) headers.append(name, value);
  headers.set('cache-control', 'no-store');
  const location = response.headers.get('location');
  if (location !== null) headers.set('location', rewriteLocation(location, apiUrl));
  return headers;
}

/** Rewrites a location of the API to one of this proxy. */
function rewriteLocation(location: string, apiUrl: string): string {
  const api = new URL(apiUrl);
  const target = URL.parse(location, api.href);
  if (!target || target.origin !== api.origin) return location;
  const prefix = api.pathname.replace(/\/+$/, '');
  const path = target.pathname.startsWith(`${prefix}/`) ? target.pathname.slice(prefix.length) : target.pathname;
  return `${path}${target.search}${target.hash}`;
}

function describeFailure(error: unknown): string {
  const { name, message, cause } = Object(error) as Error;
  const reason = cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message;
  const isCredentials = /Credentials|Token/i.test(name);
  const advice = isCredentials
    ? ' Log in again (for example with "aws sso login"), then reload.'
    : ' Check the URL of the API.';
  return `The API did not respond: ${reason}.${advice}`;
}
