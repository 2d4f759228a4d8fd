import { handle, type LambdaEvent } from 'hono/aws-lambda';
import { createApi } from '../api/app.ts';
import type { Contexts } from '../checkpoints/contexts.ts';
import { present } from '../core/omit-undefined.ts';
import { authorizerCaller } from '../http/authorizer-caller.ts';
import type { Identify } from '../http/caller.ts';
import { pathId } from '../http/path-id.ts';
import { type Clock, systemClock } from '../runtime/agent/clock.ts';
import type { Observing } from '../runtime/telemetry.ts';
import type { SignedUrls } from '../storage/ports.ts';
import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import type { Agents } from './agents.ts';
import { readIamCallers, readJwtCallers } from './caller-maps.ts';
import { contextsOf, wired } from './lazy-handler.ts';
import { observingOf } from './powertools.ts';

export interface Serving {
  readonly contexts: Contexts;
  readonly identify: Identify;
  readonly agents: Agents;
  readonly signedUrls: SignedUrls | undefined;
  /** The origins of other sites whose pages may call the API. @default none */
  readonly origins?: readonly string[];
  readonly observing: Observing;
  readonly clock?: Clock;
}

/** A request as an HTTP API of API Gateway passes it on, payload format 2.0. */
export interface HttpEvent {
  readonly rawPath: string;
  readonly requestContext: { readonly domainName?: string; readonly http: { readonly method: string } };
  readonly [field: string]: unknown;
}

/** What is answered to API Gateway. */
export interface HttpAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/** The function behind an HTTP API: links, API and console. */
export function createServe({ contexts, agents, clock = systemClock, ...serving }: Serving) {
  const { observing } = serving;
  const { log } = observing;
  const app = createApi({
    runtime: { contexts, clock, chance: Math.random, log },
    ...serving,
    agents: async () => [...agents].map(([name, { tenants }]) => ({ name, ...present({ tenants }) })),
  });
  const serve = handle(app);
  return (event: HttpEvent): Promise<HttpAnswer> =>
    observing.invocation(async () => (await serve(asRequested(event) as unknown as LambdaEvent)) as HttpAnswer);
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
  const asName = (part: string) => (/^(\.|%2e){1,2}$/i.test(part) ? pathId(decodeURIComponent(part)) : part);
  const path = rawPath.toWellFormed().split('/').map(escaped).map(asName).join('/');
  const hasBody = body !== undefined && http.method !== 'GET' && http.method !== 'HEAD';
  return { ...rest, requestContext, rawPath: path, ...(hasBody && { body }) };
}

export const handler = wired('api', (environment) => {
  const { jwtCallers, iamCallers } = environment;
  return createServe({
    contexts: contextsOf(environment),
    identify: authorizerCaller({
      jwt: jwtCallers === undefined ? undefined : readJwtCallers(jwtCallers),
      iam: iamCallers === undefined ? undefined : readIamCallers(iamCallers),
    }),
    agents: environment.agents,
    signedUrls: s3SignedUrls(environment),
    origins: environment.corsOrigins,
    observing: observingOf('api', environment),
  });
});
