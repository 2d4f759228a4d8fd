import { handle, type LambdaEvent } from 'hono/aws-lambda';
import { createApi } from '../api/app.ts';
import type { ContextFactory } from '../checkpoints/engine.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { identifyFromAuthorizer } from '../http/authorizer-caller.ts';
import type { Identify } from '../http/caller.ts';
import { encodePathId } from '../http/path-id.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { SignedUrls } from '../storage/ports.ts';
import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import type { Agents } from './agents.ts';
import { readIamCallers, readJwtCallers } from './caller-maps.ts';
import { contextFactoryFrom, lazyHandler } from './lazy-handler.ts';
import { powertoolsTelemetry } from './powertools.ts';

export interface ApiHandlerOptions {
  readonly contexts: ContextFactory;
  readonly identify: Identify;
  readonly agents: Agents;
  readonly signedUrls: SignedUrls | undefined;
  /** The origins of other sites whose pages may call the API. @default none */
  readonly corsOrigins?: readonly string[];
  readonly telemetry: Telemetry;
  readonly clock?: Clock;
}

/** A request as an HTTP API of API Gateway passes it on, payload format 2.0. */
export interface HttpEvent {
  readonly rawPath: string;
  readonly requestContext: { readonly domainName?: string; readonly http: { readonly method: string } };
  readonly [field: string]: unknown;
}

/** What is answered to API Gateway. */
export interface HttpResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/** The function behind an HTTP API: links, API and console. */
export function createApiHandler({ contexts, agents, clock = systemClock, ...serving }: ApiHandlerOptions) {
  const { telemetry } = serving;
  const { log } = telemetry;
  const app = createApi({
    runtime: { contexts, clock, random: Math.random, log },
    ...serving,
    agents: async () => [...agents].map(([name, { tenants }]) => ({ name, ...omitUndefined({ tenants }) })),
  });
  const serve = handle(app);
  return (event: HttpEvent): Promise<HttpResponse> =>
    telemetry.traceInvocation(async () => (await serve(asRequested(event) as unknown as LambdaEvent)) as HttpResponse);
}

/**
 * The event as a request that a URL can have. An HTTP API decodes `rawPath`, whatever its name says, so that a `?` or a `%`
 * in an id would be taken for more than it is; a function URL does not. Dots alone are a name, never a step: the gateway has
 * authorized the path as it is, and no other. Nothing reads the body of a GET.
 */
function asRequested(event: HttpEvent): HttpEvent {
  const { rawPath, requestContext, body, ...rest } = event;
  const { domainName = '', http } = requestContext;
  const isDecoded = !/\.lambda-url\.[\w-]+\.on\.aws$/.test(domainName);
  const escaped = isDecoded ? encodeURIComponent : (part: string) => part.replaceAll('\\', '%5C');
  const asName = (part: string) => (/^(\.|%2e){1,2}$/i.test(part) ? encodePathId(decodeURIComponent(part)) : part);
  const path = rawPath.toWellFormed().split('/').map(escaped).map(asName).join('/');
  const hasBody = body !== undefined && http.method !== 'GET' && http.method !== 'HEAD';
  return { ...rest, requestContext, rawPath: path, ...(hasBody && { body }) };
}

export const handler = lazyHandler('api', (environment) => {
  const { jwtCallers, iamCallers } = environment;
  return createApiHandler({
    contexts: contextFactoryFrom(environment),
    identify: identifyFromAuthorizer({
      jwt: jwtCallers === undefined ? undefined : readJwtCallers(jwtCallers),
      iam: iamCallers === undefined ? undefined : readIamCallers(iamCallers),
    }),
    agents: environment.agents,
    signedUrls: s3SignedUrls(environment),
    corsOrigins: environment.corsOrigins,
    telemetry: powertoolsTelemetry('api', environment),
  });
});
