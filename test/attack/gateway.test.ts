import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { toOpenApi } from '../../lambda/api/open-api.ts';
import { ROUTES } from '../../lambda/api/routes/routes.ts';
import { createApiHandler, type HttpEvent } from '../../lambda/handlers/factories/create-api-handler.ts';
import { identifyFromAuthorizer } from '../../lambda/http/authorizer-caller.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { repeatable } from '../faults/repeatable.ts';
import { findProblems } from './answers.ts';
import { createArsenal } from './arsenal.ts';
import { expectUnharmed } from './attack.ts';
import { type OpenApi, operationsOf } from './open-api.ts';
import { requestsTo } from './requests.ts';
import { ATTACKER, type AttackRequest, type AttackResponse, type AttackScene, attackScene } from './scene.ts';

const operations = operationsOf(toOpenApi(ROUTES) as OpenApi);
const RUNS = 30;
// The maximum size of a Lambda response, as JSON.
const MAX_RESPONSE_BYTES = 6 * 1024 * 1024;

describe('the API function behind API Gateway', () => {
  let scene: AttackScene;
  let serve: Serve;
  let before: unknown;
  beforeAll(async () => {
    scene = await attackScene(memoryStorage());
    serve = createServe(scene);
    before = await scene.untouched();
  });

  test.each(operations)(
    'responds to hostile requests to $method $path as described and leaks nothing',
    async (operation) => {
      await fc.assert(
        fc.asyncProperty(requestsTo(operation, createArsenal(scene)), async (request) => {
          const event = toEvent(request);
          const got = await send(serve, event);
          const path = event.rawPath.toWellFormed().split('/').map(encodeURIComponent).join('/');
          const sent = { ...request, path: `${path}?${event.rawQueryString}` };
          expect(findProblems(scene.openApi, operations, sent, got)).toEqual([]);
          await scene.settle();
        }),
        repeatable(RUNS),
      );
    },
  );

  test('leaves all data unchanged that the attacker may not access', () => expectUnharmed(scene, before));
});

/** A request as an HTTP API passes it on: the path decoded, duplicate headers joined, the body in base64. */
function toEvent({ method, path, headers = [], body }: AttackRequest): HttpEvent & { readonly rawQueryString: string } {
  const { pathname, search } = new URL(`http://localhost${path}`);
  const joined: Record<string, string> = {};
  for (const [name, value] of headers) joined[name] = joined[name] === undefined ? value : `${joined[name]},${value}`;
  const claims = { tenant: ATTACKER, sub: 'ann', groups: '[desk]', roles: '[viewer approver operator]' };
  return {
    version: '2.0',
    rawPath: decodePath(pathname),
    rawQueryString: search.slice(1),
    headers: joined,
    ...(body !== undefined && { body: Buffer.from(body).toString('base64'), isBase64Encoded: true }),
    requestContext: {
      domainName: 'api.test',
      http: { method: method.toUpperCase() },
      // The type of events leaves it out: only a JWT authorizer adds it.
      ...{ authorizer: { jwt: { claims, scopes: null } } },
    },
  };
}

/** Decodes a path; a gateway refuses paths that cannot be decoded. */
const decodePath = (pathname: string): string =>
  pathname.replaceAll(/(%[0-9a-f]{2})+/gi, (escaped) => Buffer.from(escaped.replaceAll('%', ''), 'hex').toString());

type Serve = ReturnType<typeof createApiHandler>;

/** The API function on the scene's storage, for callers that a JWT authorizer accepted. */
const createServe = ({ runtime, logged, apiClock }: AttackScene): Serve =>
  createApiHandler({
    contexts: runtime.contexts,
    identify: identifyFromAuthorizer({
      jwt: { tenantClaim: 'tenant', rolesClaim: 'roles', personClaim: 'sub', groupsClaim: 'groups' },
    }),
    agents: new Map(['trips', 'elsewhere'].map((name) => [name, { function: name }])) as never,
    signedUrls: {
      put: async (_, id) => `https://bucket.test/${id}`,
      get: async (_, id) => `https://bucket.test/${id}`,
    },
    telemetry: {
      log: (level, message, fields) => void logged.push(JSON.stringify({ level, message, ...fields })),
      count: () => {},
      runInvocation: (run) => run(),
    },
    clock: apiClock,
  });

async function send(serve: Serve, event: HttpEvent): Promise<AttackResponse> {
  const response = await serve(event);
  expect(JSON.stringify(response).length).toBeLessThan(MAX_RESPONSE_BYTES);
  const bytes = Buffer.from(response.body, response.isBase64Encoded ? 'base64' : 'utf8');
  return { status: response.statusCode, headers: new Headers(response.headers), bytes, text: bytes.toString() };
}
