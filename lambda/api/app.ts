import { type Context, Hono } from 'hono';
import { matchedRoutes } from 'hono/route';
import { withTenant } from '../checkpoints/engine.ts';
import { ASSETS } from '../console/assets.ts';
import { createConsole } from '../console/console.ts';
import { backLink, problemPage } from '../console/problem-page.ts';
import type { AppOptions } from '../http/app-options.ts';
import { exceedsEscapedBytes } from '../http/escaped-bytes.ts';
import { MAX_JSON_BYTES, MAX_URL_CHARACTERS, RESPONSE_TIMEOUT_SECONDS } from '../http/limits.ts';
import { HttpError, toProblem } from '../http/problem.ts';
import type { ApiEnv } from '../http/request-variables.ts';
import { ALL_ROLES, notAllowed, requireRole, seesApprovers } from '../http/roles.ts';
import { setSecurityHeaders } from '../http/security-headers.ts';
import { wantsPage } from '../http/wants-page.ts';
import { withTimeout } from '../http/with-timeout.ts';
import { createOperator } from '../operator/create-operator.ts';
import { linkNotFound } from '../runtime/approvals/tokens.ts';
import { errorFields } from '../runtime/telemetry.ts';
import { type Route, toRouteRequest } from './route.ts';
import { ROUTES } from './routes/routes.ts';

/** Creates the HTTP application: approval links, API and console, behind API Gateway or on the local server. */
export function createApi(options: AppOptions): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.onError((error, context) => handleError(options, context, error));
  app.notFound((context) => handleError(options, context, notFound(context.req.path)));
  app.use(async (context, next) => {
    await next();
    const { pathname, protocol } = new URL(context.req.url);
    setSecurityHeaders(context.res.headers, { path: pathname, isHttps: protocol === 'https:' });
  });
  app.use(async ({ req }, next) => {
    if (req.url.length > MAX_URL_CHARACTERS)
      throw new HttpError(414, 'TOO_LARGE', `The URL must have at most ${MAX_URL_CHARACTERS} characters.`);
    await next();
  });
  for (const [path, origins] of [
    ['/api/*', options.corsOrigins],
    ['/console/*', []],
  ] as const)
    app.use(path, async (context, next) => {
      rejectCrossSite(context.req.raw, origins);
      await identifyCaller(options, context);
      await next();
    });

  app.get('/approvals/assets/:file', (context) => serveAsset(context.req.param('file')));
  for (const route of ROUTES)
    app.on(route.method, honoPath(route), (context) =>
      withTimeout(RESPONSE_TIMEOUT_SECONDS, handleRoute(options, route, context), responseTimedOut),
    );
  for (const route of ROUTES)
    app.all(honoPath(route), ({ req }) => {
      throw methodNotAllowed(
        req.method,
        ROUTES.filter(({ path }) => path === route.path),
      );
    });
  for (const path of ['/', '/console/']) app.get(path, (context) => context.redirect('/console'));
  app.route('/console', createConsole(options));
  return app;
}

const honoPath = ({ path }: Route): string => path.replace(/\{(\w+)\}/g, ':$1');

/** Identifies the caller and creates the operator of their tenant. A caller without any role is rejected. */
async function identifyCaller({ runtime, identify }: AppOptions, context: Context<ApiEnv>): Promise<void> {
  const caller = await identify(context.req.raw, context.env);
  if (!caller) throw notAuthenticated();
  requireRole(caller, ALL_ROLES);
  context.set('caller', caller);
  context.set('operator', createOperator({ ...runtime, contexts: withTenant(runtime.contexts, caller.tenant) }));
}

/**
 * Rejects cross-site requests, which a browser sends with the identity of its user, except from the allowed origins.
 * A request without `Sec-Fetch-Site` does not come from a current browser and passes.
 */
function rejectCrossSite({ method, headers }: Request, origins: readonly string[] = []): void {
  const origin = headers.get('origin');
  const site = headers.get('sec-fetch-site') ?? 'none';
  if (method === 'GET' || method === 'HEAD' || site === 'same-origin' || site === 'none') return;
  if (origin !== null && origins.includes(origin)) return;
  throw notAllowed(
    'The request comes from a page of another site. Send it from this site, or add that origin to `corsOrigins`.',
  );
}

async function handleRoute(options: AppOptions, route: Route, context: Context<ApiEnv>): Promise<Response> {
  if (route.access !== 'everyone') requireRole(context.get('caller'), route.access);
  const response = await route.handle(toRouteRequest(route, options, context));
  if (response instanceof Response) return response;
  const { status, json, headers } = response;
  const body = JSON.stringify(json);
  if (exceedsEscapedBytes(body, MAX_JSON_BYTES)) throw responseTooLarge();
  return new Response(body, { status, headers: { 'content-type': 'application/json', ...headers } });
}

/** Serves a file of the console. Its name contains a hash of its content, so clients can cache it forever. */
function serveAsset(file: string): Response {
  const found = ASSETS.get(file);
  if (!found) throw linkNotFound();
  const headers = { 'content-type': found.type, 'cache-control': 'public, max-age=31536000, immutable' };
  return new Response(found.body, { headers });
}

/** Logs and counts a failed request by its route, since URLs can hold secrets, and responds with a page or JSON. */
async function handleError({ telemetry }: AppOptions, context: Context<ApiEnv>, error: unknown): Promise<Response> {
  const { method, path } = context.req;
  const caller = context.get('caller');
  const isApi = path === '/api' || path.startsWith('/api/');
  const problem = toProblem(error, { seesApprovers: isApi && caller ? seesApprovers(caller) : undefined });
  const isOurFault = problem.status >= 500;
  const route = matchedRoutes(context).findLast(({ path: matched }) => !matched.endsWith('*'))?.path ?? 'none';
  telemetry.count(isOurFault ? 'RequestFailed' : 'RequestRefused');
  telemetry.log(isOurFault ? 'error' : 'info', 'Request failed.', {
    method,
    route,
    status: problem.status,
    ...(error instanceof HttpError ? { error: error.code } : errorFields(error)),
  });
  const headers = error instanceof HttpError ? error.headers : {};
  const isPage = !isApi && wantsPage(context);
  const body = isPage
    ? String(problemPage(problem, caller, backLink(new URL(context.req.url).pathname, problem.code, caller)))
    : JSON.stringify(problem);
  const type = isPage ? 'text/html; charset=UTF-8' : 'application/problem+json';
  return new Response(body, { status: problem.status, headers: { 'content-type': type, ...headers } });
}

const notFound = (path: string): Error =>
  // Responses must not reveal which links exist.
  path.startsWith('/approvals')
    ? linkNotFound()
    : new HttpError(404, 'ROUTE_NOT_FOUND', 'No route has this path. Check the URL.');

const notAuthenticated = (): HttpError =>
  new HttpError(401, 'NOT_AUTHENTICATED', 'The caller is not authenticated. Sign in, or sign the request.', {
    headers: { 'www-authenticate': 'Bearer' },
  });

const responseTooLarge = (): HttpError =>
  new HttpError(
    413,
    'TOO_LARGE',
    `The response would exceed ${MAX_JSON_BYTES} bytes, with its quotes escaped. Request less: set a smaller \`limit\`.`,
  );

const responseTimedOut = (): HttpError =>
  new HttpError(
    503,
    'TIMED_OUT',
    `The request took longer than ${RESPONSE_TIMEOUT_SECONDS} seconds. It may or may not have taken effect: check, then try again.`,
  );

function methodNotAllowed(method: string, routes: readonly Route[]): HttpError {
  const methods = routes.flatMap((route) => (route.method === 'GET' ? ['GET', 'HEAD'] : route.method));
  const allow = [...new Set(methods)].join(', ');
  return new HttpError(405, 'METHOD_NOT_ALLOWED', `This path allows ${allow}; found ${method.slice(0, 20)}.`, {
    headers: { allow },
  });
}
