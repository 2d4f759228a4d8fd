import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { problemPage } from '../../../lambda/console/problem-page.ts';
import { type Caller, ROLES } from '../../../lambda/http/caller.ts';
import { HttpError, toProblem } from '../../../lambda/http/problem.ts';
import { setSecurityHeaders } from '../../../lambda/http/security-headers.ts';
import { createTicketRedeemer } from './ticket.ts';

/** Decides which requests may reach the local server. */
export interface Guard {
  /** A response that rejects a request or signs a browser in; undefined if the application may respond. */
  check(request: Request, incoming: Pick<IncomingMessage, 'headersDistinct'>): Response | undefined;
  /** The caller: a program with the key, or a browser that signed in with it. */
  identify(request: Request): Caller | undefined;
}

export interface GuardOptions {
  readonly key: string;
  readonly port: number;
  readonly tenant: string;
}

const HOSTNAMES = ['127.0.0.1', 'localhost', '[::1]'];
const WRONG_KEY_DETAIL = 'This is not the key of this server. Open the URL that the server printed when it started.';
const EXPIRED_TICKET_DETAIL =
  'This link was already used or has expired. Open the URL that the server printed when it started.';
const COOKIE_SECONDS = 30 * 24 * 3600;

/**
 * Accepts callers with the key: programs send it as `Authorization: Bearer`, a browser once as `/?key=…` and then as a
 * cookie. Rejects requests that other websites make a browser send: for another host name (DNS rebinding) and from another
 * origin (CSRF). Approval links contain their own secret.
 */
export function createGuard({ key, port, tenant }: GuardOptions): Guard {
  const hosts = new Set(HOSTNAMES.flatMap((name) => [`${name}:${port}`, ...(port === 80 ? [name] : [])]));
  const cookieName = `waitstate-${port}`;
  // Browsers send cookies to all ports of a host, so the cookie must not be the key itself.
  const cookie = createHmac('sha256', key).update('cookie').digest('base64url');
  const redeem = createTicketRedeemer(key);
  const caller: Caller = { tenant, groups: [], roles: new Set(ROLES), decidesForOthers: true };

  const isBearer = ({ headers }: Request): boolean => {
    const [scheme = '', given = ''] = (headers.get('authorization') ?? '').split(' ');
    return scheme.toLowerCase() === 'bearer' && isEqualSecret(given, key);
  };
  const hasCookie = ({ headers }: Request): boolean =>
    (headers.get('cookie') ?? '')
      .split(';')
      .map((part) => part.trim().split('='))
      .some(([name, value = '']) => name === cookieName && isEqualSecret(value, cookie));

  return {
    check(request, { headersDistinct }) {
      const url = new URL(request.url);
      const [host = '', ...others] = headersDistinct.host ?? [];
      if (others.length > 0 || !hosts.has(host.toLowerCase()) || url.host !== new URL(`http://${host}`).host)
        return problemResponse(
          403,
          'NOT_ALLOWED',
          `This server accepts requests for ${HOSTNAMES.map((name) => `${name}:${port}`).join(', ')} only.`,
        );
      const isRead = request.method === 'GET' || request.method === 'HEAD';
      const given = url.pathname === '/' && isRead ? url.searchParams.get('key') : null;
      if (given !== null) return isEqualSecret(given, key) ? signIn() : unauthenticated(request, WRONG_KEY_DETAIL);
      const ticket = url.pathname === '/' && request.method === 'GET' ? url.searchParams.get('ticket') : null;
      if (ticket !== null) return redeem(ticket) ? signIn() : unauthenticated(request, EXPIRED_TICKET_DETAIL);
      const isLink = request.method === 'POST' && /^\/approvals\/[^/]+$/.test(url.pathname);
      if (isRead || isLink || isBearer(request) || isSameOrigin(request, host)) return undefined;
      return problemResponse(
        403,
        'NOT_ALLOWED',
        'Requests that change something must come from a page of this server or contain its key.',
      );
    },
    identify(request) {
      const isKnown = request.headers.has('authorization') ? isBearer(request) : hasCookie(request);
      return isKnown ? caller : undefined;
    },
  };

  function signIn(): Response {
    const attributes = `Path=/; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Strict`;
    const headers = {
      location: '/',
      'set-cookie': `${cookieName}=${cookie}; ${attributes}`,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    };
    return new Response(null, { status: 303, headers });
  }
}

/**
 * Whether a request comes from a page of this server. A form on a page without referrer has the origin `null`, but a page
 * cannot forge `Sec-Fetch-Site`.
 */
function isSameOrigin({ headers }: Request, host: string): boolean {
  const origin = headers.get('origin');
  const site = headers.get('sec-fetch-site');
  const isOwnOrigin = origin?.toLowerCase() === `http://${host.toLowerCase()}`;
  if (site === null) return isOwnOrigin;
  return site === 'same-origin' && (isOwnOrigin || origin === null || origin === 'null');
}

/** Responds with status 401: a page to a browser, otherwise JSON. */
function unauthenticated({ headers }: Request, detail: string): Response {
  if (!headers.get('accept')?.includes('text/html')) return problemResponse(401, 'NOT_AUTHENTICATED', detail);
  const problem = toProblem(new HttpError(401, 'NOT_AUTHENTICATED', detail));
  const response = new Response(String(problemPage(problem)), {
    status: problem.status,
    headers: { 'content-type': 'text/html; charset=UTF-8', 'referrer-policy': 'no-referrer' },
  });
  setSecurityHeaders(response.headers, { path: '/', isHttps: false });
  return response;
}

/** An error response in the format of the HTTP API. */
export function problemResponse(status: number, code: HttpError['code'], detail: string): Response {
  const headers = {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
  return new Response(JSON.stringify(toProblem(new HttpError(status, code, detail))), { status, headers });
}

/** Compares two secrets in constant time. */
const isEqualSecret = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
