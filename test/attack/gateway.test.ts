import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { toOpenApi } from '../../lambda/api/open-api.ts';
import { ROUTES } from '../../lambda/api/routes/routes.ts';
import { createApiHandler, type HttpEvent } from '../../lambda/handlers/api.ts';
import { identifyFromAuthorizer } from '../../lambda/http/authorizer-caller.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { repeatable } from '../faults/seeded.ts';
import { findProblems } from './answers.ts';
import { createArsenal } from './arsenal.ts';
import { expectUnharmed } from './attack.ts';
import { type OpenApi, operationsOf } from './open-api.ts';
import { requestsTo } from './requests.ts';
import { ATTACKER, type AttackRequest, type AttackResponse, type AttackScene, attackScene } from './scene.ts';

const operations = operationsOf(toOpenApi(ROUTES) as OpenApi);
const RUNS = 30;
// What Lambda gives back at most, as JSON.
const MOST_ANSWER = 6 * 1024 * 1024;

describe('whatever API Gateway passes on', () => {
  let scene: AttackScene;
  let serve: Serve;
  let before: unknown;
  beforeAll(async () => {
    scene = await attackScene(memoryStorage());
    serve = serveOn(scene);
    before = await scene.untouched();
  });

  test.each(operations)('to $method $path, the function answers as described and shows nothing', async (operation) => {
    await fc.assert(
      fc.asyncProperty(requestsTo(operation, createArsenal(scene)), async (request) => {
        const event = eventOf(request);
        const got = await answerTo(serve, event);
        const path = event.rawPath.toWellFormed().split('/').map(encodeURIComponent).join('/');
        const asked = { ...request, path: `${path}?${event.rawQueryString}` };
        expect(findProblems(scene.openApi, operations, asked, got)).toEqual([]);
        await scene.settle();
      }),
      repeatable(RUNS),
    );
  });

  test('nothing of others is other than it was', () => expectUnharmed(scene, before));
});

/** A request as an HTTP API passes it on: its path decoded, headers that are there twice as one, a body in base64. */
function eventOf({ method, path, headers = [], body }: AttackRequest): HttpEvent & { readonly rawQueryString: string } {
  const { pathname, search } = new URL(`http://localhost${path}`);
  const joined: Record<string, string> = {};
  for (const [name, value] of headers) joined[name] = joined[name] === undefined ? value : `${joined[name]},${value}`;
  const claims = { tenant: ATTACKER, sub: 'ann', groups: '[desk]', roles: '[viewer approver operator]' };
  return {
    ...{ version: '2.0', rawPath: decoded(pathname), rawQueryString: search.slice(1), headers: joined },
    ...(body !== undefined && { body: Buffer.from(body).toString('base64'), isBase64Encoded: true }),
    requestContext: {
      domainName: 'api.test',
      http: { method: method.toUpperCase() },
      ...{ authorizer: { jwt: { claims, scopes: null } } },
    },
  };
}

/** What of a path can be decoded; a gateway refuses the rest before anybody sees it. */
const decoded = (pathname: string): string =>
  pathname.replaceAll(/(%[0-9a-f]{2})+/gi, (escaped) => Buffer.from(escaped.replaceAll('%', ''), 'hex').toString());

type Serve = ReturnType<typeof createApiHandler>;

/** The function on what the scene has, for callers whom a JWT authorizer let through. */
const serveOn = ({ runtime, logged, clock }: AttackScene): Serve =>
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
      traceInvocation: (run) => run(),
    },
    clock,
  });

async function answerTo(serve: Serve, event: HttpEvent): Promise<AttackResponse> {
  const answer = await serve(event);
  expect(JSON.stringify(answer).length).toBeLessThan(MOST_ANSWER);
  const bytes = Buffer.from(answer.body, answer.isBase64Encoded ? 'base64' : 'utf8');
  return { status: answer.statusCode, headers: new Headers(answer.headers), bytes, text: bytes.toString() };
}
