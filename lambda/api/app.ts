import { type Context, Hono } from 'hono';
import { matchedRoutes } from 'hono/route';
import { withTenant } from '../checkpoints/engine.ts';
import { ASSETS } from '../console/assets.ts';
import { createConsole } from '../console/console.ts';
import { backLink, problemPage } from '../console/problem-page.ts';
import type { AppOptions } from '../http/app-options.ts';
import { MAX_JSON_BYTES, MAX_URL_CHARACTERS, RESPONSE_TIMEOUT_SECONDS } from '../http/limits.ts';
import { HttpError, toProblem } from '../http/problem.ts';
import type { ApiEnv } from '../http/request-variables.ts';
import { ALL_ROLES, notAllowed, requireRole } from '../http/roles.ts';
import { setSecurityHeaders } from '../http/security-headers.ts';
import { wantsPage } from '../http/wants-page.ts';
import { withTimeout } from '../http/with-timeout.ts';
import { createOperator } from '../operator/create-operator.ts';
import { linkNotFound } from '../runtime/approvals/tokens.ts';
import { errorFields } from '../runtime/telemetry.ts';
import { type Route, toRouteRequest } from './route.ts';
import { ROUTES } from './routes/routes.ts';

/** The HTTP application: webhook, API and console, for API Gateway and for one machine alike. */
export function createApi(options: AppOptions): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.onError((error, context) => notDone(options, context, error));
  app.notFound((context) => notDone(options, context, notFound(context.req.path)));
  app.use(async (context, next) => {
    await next();
    const { pathname, protocol } = new URL(context.req.url);
    setSecurityHeaders(context.res.headers, { path: pathname, isHttps: protocol === 'https:' });
  });
  app.use(async ({ req }, next) => {
    if (req.url.length > MAX_URL_CHARACTERS)
      throw new HttpError(414, 'TOO_LARGE', `A URL has at most ${MAX_URL_CHARACTERS} characters.`);
    await next();
  });
  for (const [path, origins] of [
    ['/api/*', options.corsOrigins],
    ['/console/*', []],
  ] as const)
    app.use(path, async (context, next) => {
      refuseOtherSites(context.req.raw, origins);
      await identified(options, context);
      await next();
    });

  app.get('/approvals/assets/:file', (context) => asset(context.req.param('file')));
  for (const route of ROUTES)
    app.on(route.method, pattern(route), (context) =>
      withTimeout(RESPONSE_TIMEOUT_SECONDS, handled(options, route, context), tooLate),
    );
  for (const route of ROUTES)
    app.all(pattern(route), ({ req }) => {
      throw methodNotAllowed(
        req.method,
        ROUTES.filter(({ path }) => path === route.path),
      );
    });
  for (const path of ['/', '/console/']) app.get(path, (context) => context.redirect('/console'));
  app.route('/console', createConsole(options));
  return app;
}

const pattern = ({ path }: Route): string => path.replace(/\{(\w+)\}/g, ':$1');

/** Finds out who calls, and opens the desk of their tenant. Who has no role may do nothing. */
async function identified({ runtime, identify }: AppOptions, context: Context<ApiEnv>): Promise<void> {
  const caller = await identify(context.req.raw, context.env);
  if (!caller) throw notAuthenticated();
  requireRole(caller, ALL_ROLES);
  context.set('caller', caller);
  context.set('operator', createOperator({ ...runtime, contexts: withTenant(runtime.contexts, caller.tenant) }));
}

/**
 * Refuses what a page of another site makes a browser send, with whatever identity the browser adds; but for the sites
 * that may. Browsers that do not say what site it is say at least the origin; who says neither is no browser.
 */
function refuseOtherSites({ method, headers }: Request, origins: readonly string[] = []): void {
  const origin = headers.get('origin');
  const site = headers.get('sec-fetch-site') ?? 'none';
  if (method === 'GET' || method === 'HEAD' || site === 'same-origin' || site === 'none') return;
  if (origin !== null && origins.includes(origin)) return;
  throw notAllowed('This was sent by a page of another site. Send it from a page of this one.');
}

async function handled(options: AppOptions, route: Route, context: Context<ApiEnv>): Promise<Response> {
  if (route.access !== 'everyone') requireRole(context.get('caller'), route.access);
  const answer = await route.handle(toRouteRequest(route, options, context));
  if (answer instanceof Response) return answer;
  const { status, json, headers } = answer;
  const body = Buffer.from(JSON.stringify(json));
  if (body.length > MAX_JSON_BYTES) throw answerTooLarge();
  return new Response(body, { status, headers: { 'content-type': 'application/json', ...headers } });
}

/** A file that pages load. Its name is that of its content, so it never changes. */
function asset(file: string): Response {
  const found = ASSETS.get(file);
  if (!found) throw linkNotFound();
  const headers = { 'content-type': found.type, 'cache-control': 'public, max-age=31536000, immutable' };
  return new Response(found.body, { headers });
}

/** Logs and counts what was not done, by its route and never by its URL, and says why: on a page, or as JSON. */
async function notDone({ telemetry }: AppOptions, context: Context<ApiEnv>, error: unknown): Promise<Response> {
  const problem = toProblem(error);
  const isOurFault = problem.status >= 500;
  const { method, path } = context.req;
  const route = matchedRoutes(context).findLast(({ path: matched }) => !matched.endsWith('*'))?.path ?? 'none';
  telemetry.count(isOurFault ? 'RequestFailed' : 'RequestRefused');
  telemetry.log(isOurFault ? 'error' : 'info', 'A request was not done.', {
    method,
    route,
    status: problem.status,
    ...(error instanceof HttpError ? { error: error.code } : errorFields(error)),
  });
  const headers = error instanceof HttpError ? error.headers : {};
  const isPage = path !== '/api' && !path.startsWith('/api/') && wantsPage(context);
  const caller = context.get('caller');
  const body = isPage
    ? String(problemPage(problem, caller, backLink(new URL(context.req.url).pathname, problem.code, caller)))
    : JSON.stringify(problem);
  const type = isPage ? 'text/html; charset=UTF-8' : 'application/problem+json';
  return new Response(body, { status: problem.status, headers: { 'content-type': type, ...headers } });
}

const notFound = (path: string): Error =>
  // Of links, nobody learns what there is and what there is not.
  path.startsWith('/approvals') ? linkNotFound() : new HttpError(404, 'ROUTE_NOT_FOUND', 'There is nothing here.');

const notAuthenticated = (): HttpError =>
  new HttpError(401, 'NOT_AUTHENTICATED', 'Nobody whom this trusts says who calls. Sign in, or sign the request.', {
    headers: { 'www-authenticate': 'Bearer' },
  });

const answerTooLarge = (): HttpError =>
  new HttpError(
    413,
    'TOO_LARGE',
    `The answer would have more than ${MAX_JSON_BYTES} bytes. Ask for less: a smaller limit.`,
  );

const tooLate = (): HttpError =>
  new HttpError(
    503,
    'TIMED_OUT',
    `There was no answer within ${RESPONSE_TIMEOUT_SECONDS} seconds. It may have been done or not: look, then try again.`,
  );

function methodNotAllowed(method: string, routes: readonly Route[]): HttpError {
  const methods = routes.flatMap((route) => (route.method === 'GET' ? ['GET', 'HEAD'] : route.method));
  const allow = [...new Set(methods)].join(', ');
  return new HttpError(405, 'METHOD_NOT_ALLOWED', `This takes ${allow}; found ${method.slice(0, 20)}.`, {
    headers: { allow },
  });
}
