import { beforeAll, describe, expect, it } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { handler } from '../../lambda/handlers/api.ts';
import { createApiHandler } from '../../lambda/handlers/factories/create-api-handler.ts';
import { identifyFromAuthorizer } from '../../lambda/http/authorizer-caller.ts';
import { exceedsEscapedBytes } from '../../lambda/http/escaped-bytes.ts';
import { MAX_JSON_BYTES } from '../../lambda/http/limits.ts';
import { encodePathId } from '../../lambda/http/path-id.ts';
import { payload } from '../../lambda/index.ts';
import { linkFor } from '../runtime/approvals/scene.ts';
import { type HandlerScene, handlerScene, httpEvent, linkEvent } from './scene.ts';

let scene: HandlerScene;

const identify = identifyFromAuthorizer({
  jwt: { tenantClaim: 'tenant', rolesClaim: 'cognito:groups', personClaim: 'sub' },
  iam: { 'arn:aws:sts::111122223333:assumed-role/Ops/*': { tenant: 'default', roles: ['operator'] } },
});

beforeAll(async () => {
  scene = await handlerScene({ identify, agents: {}, origins: ['https://portal.test', 'http://localhost:5173'] });
});

const CLAIMS = { tenant: 'default', sub: 'ann', 'cognito:groups': '[viewer operator approver]' };

/** A request that a JWT authorizer accepted. */
function authorized(
  method: string,
  path: string,
  { claims = CLAIMS, ...more }: { claims?: object; [field: string]: unknown } = {},
) {
  const event = httpEvent(method, path, more);
  return { ...event, requestContext: { ...event.requestContext, authorizer: { jwt: { claims, scopes: null } } } };
}

const start = (json: object) => scene.api(authorized('POST', '/api/runs', { body: JSON.stringify(json) }));

/** A path as API Gateway passes it on. */
const decodedByGateway = (path: string): string => decodeURIComponent(path);

describe('the handler behind an HTTP API', () => {
  it('serves only callers that the authorizer accepted, by JWT or IAM', async () => {
    expect(JSON.parse((await scene.api(authorized('GET', '/api/me'))).body)).toMatchObject({
      person: 'user:ann',
      tenant: 'default',
    });
    const event = httpEvent('GET', '/api/me');
    const iam = { userArn: 'arn:aws:sts::111122223333:assumed-role/Ops/me' };
    const signed = await scene.api({
      ...event,
      requestContext: { ...event.requestContext, authorizer: { iam } },
    } as never);
    expect(JSON.parse(signed.body)).toMatchObject({ roles: ['operator'] });
    expect((await scene.api(event)).statusCode).toBe(401);
    const forged = httpEvent('GET', '/api/me', { headers: { authorization: 'Bearer x', 'x-tenant': 'default' } });
    expect((await scene.api(forged)).statusCode).toBe(401);
    expect(
      (await scene.api(authorized('GET', '/api/me', { claims: { ...CLAIMS, 'cognito:groups': '[]' } }))).statusCode,
    ).toBe(403);
  });

  it('accepts cross-site requests to the API only from the configured origins', async () => {
    const sent = async (path: string, origin: string | undefined, site = 'cross-site') => {
      const headers = { 'content-type': 'application/json', 'sec-fetch-site': site, ...(origin && { origin }) };
      const event = authorized('POST', path, { headers, body: '{"agent":"x"}' });
      const { statusCode, body } = await scene.api(event);
      return statusCode === 403 ? JSON.parse(body).code : statusCode;
    };
    for (const site of ['cross-site', 'same-site'])
      for (const origin of ['https://portal.test', 'http://localhost:5173'])
        expect([origin, site, await sent('/api/runs', origin, site)]).toEqual([origin, site, 201]);
    for (const origin of [
      'https://evil.test',
      'http://portal.test',
      'https://portal.test:8443',
      'https://portal.test.evil.test',
      'https://PORTAL.test',
      'https://portal.test/',
      'null',
      undefined,
    ])
      expect([origin, await sent('/api/runs', origin)]).toEqual([origin, 'NOT_ALLOWED']);
    for (const path of ['/console/runs', '/console/api/runs', '/console'])
      expect([path, await sent(path, 'https://portal.test')]).toEqual([path, 'NOT_ALLOWED']);
  });

  it('treats dots in a path as a name, so that the authorized path is the one it serves', async () => {
    await start({ agent: 'x', id: 'victim' });
    await start({ agent: 'x', id: '.' });
    const status = async (rawPath: string, domainName = 'approve.test') => {
      const event = authorized('GET', '/x');
      const requestContext = { ...event.requestContext, domainName };
      return (await scene.api({ ...event, rawPath, requestContext })).statusCode;
    };
    expect(await status('/api/runs/victim')).toBe(200);
    for (const path of [
      '/approvals/../api/runs',
      '/api/x/../runs',
      '/api/./runs',
      '/console/../api/runs',
      '/api/runs/a/approvals/../../victim',
      '/../api/runs',
      '/api/runs/victim/.',
      '/api/runs/victim/..',
    ])
      expect([path, await status(path)]).toEqual([path, 404]);
    expect(await status('/api/runs/.')).toBe(200);
    const url = 'x.lambda-url.eu-central-1.on.aws';
    for (const path of [
      '/approvals/%2e%2E/api/runs',
      '/approvals/.%2e/api/runs',
      '/approvals\\..\\api/runs',
      '/api/%2e/runs',
    ])
      expect([path, await status(path, url)]).toEqual([path, 404]);
    expect(await status('/api/runs', url)).toBe(200);
  });

  it('sends a Strict-Transport-Security header', async () => {
    const { headers } = await scene.api(authorized('GET', '/api/me'));
    expect(headers['strict-transport-security']).toMatch(/max-age=\d+/);
  });

  it('finds a run by any id although the gateway decodes paths', async () => {
    for (const id of ['a/b', '..', 'ü €', '%2F', '100%', 'a?b#c', '~x', 'a b', '%']) {
      const started = await start({ agent: 'x', id });
      expect([id, started.statusCode]).toEqual([id, 201]);
      const location = started.headers.location ?? '';
      const found = await scene.api(authorized('GET', decodedByGateway(location)));
      expect([id, JSON.parse(found.body).run]).toEqual([id, id]);
    }
    // Percent-encoded ids work too, if they decode to a single path segment.
    for (const id of ['ü €', '%2F', '100%', 'a b']) {
      const event = authorized('GET', '/x');
      const found = await scene.api({ ...event, rawPath: decodedByGateway(`/api/runs/${encodeURIComponent(id)}`) });
      expect([id, JSON.parse(found.body).run]).toEqual([id, id]);
    }
  });

  it('does not encode the path of a function URL again', async () => {
    await start({ agent: 'x', id: 'u/1' });
    const event = authorized('GET', '/api/runs/u%2F1');
    const requestContext = { ...event.requestContext, domainName: 'abc123.lambda-url.eu-west-1.on.aws' };
    expect(JSON.parse((await scene.api({ ...event, requestContext })).body).run).toBe('u/1');
  });

  it('returns a 4xx response for a path that is not valid in a URL', async () => {
    for (const rawPath of [
      '/api/runs/\ud800',
      '/api/runs/\u0000',
      '//api',
      '/api/runs/a?b=c#d',
      '/approvals/%00%ff',
      `/${'x'.repeat(20_000)}`,
    ]) {
      const event = authorized('GET', '/x');
      const { statusCode } = await scene.api({ ...event, rawPath });
      expect([rawPath.slice(0, 30), statusCode >= 400 && statusCode < 500]).toEqual([rawPath.slice(0, 30), true]);
    }
  });

  it('ignores the body of GET and HEAD requests', async () => {
    for (const method of ['GET', 'HEAD'])
      expect((await scene.api(authorized(method, '/api/me', { body: '{"a":1}' }))).statusCode).toBe(200);
  });

  it('accepts base64 bodies and repeated query parameters', async () => {
    const body = Buffer.from(JSON.stringify({ agent: 'x', id: 'über', tags: ['b64'] })).toString('base64');
    const started = await scene.api(authorized('POST', '/api/runs', { body, isBase64Encoded: true }));
    expect([started.statusCode, JSON.parse(started.body).run]).toEqual([201, 'über']);
    const listed = await scene.api(authorized('GET', '/api/runs?status=READY&status=RUNNING&tag=b64'));
    expect(JSON.parse(listed.body).runs).toMatchObject([{ run: 'über' }]);
  });

  it('returns payload bytes unchanged for every content type and redirects to the bucket for large ones', async () => {
    const bytes = Uint8Array.from([0xff, 0xfe, 0, 0x80, 0x0a]);
    const large = new Uint8Array(5 * 1024 * 1024).fill(7);
    const store = createCheckpointStore(scene.storage, { clock: () => scene.clock.now() });
    const files = [payload(bytes, { type: 'text/plain' }), payload(bytes, { type: 'image/png' }), payload(large)];
    await store.save({ run: 'files/1', state: files });
    const base = `/api/runs/${encodePathId('files/1')}/checkpoints/1`;
    const { payloads } = JSON.parse((await scene.api(authorized('GET', base))).body) as {
      payloads: { id: string; size: number }[];
    };
    for (const { id, size } of payloads) {
      const got = await scene.api(authorized('GET', `${base}/payloads/${id}`));
      if (size < 10) {
        expect([got.statusCode, got.isBase64Encoded]).toEqual([200, true]);
        expect(Uint8Array.from(Buffer.from(got.body, 'base64'))).toEqual(bytes);
      } else {
        expect([got.statusCode, got.body]).toEqual([302, '']);
        const some = await fetch(got.headers.location ?? '', { headers: { range: 'bytes=0-3' } });
        expect(new Uint8Array(await some.arrayBuffer()).slice(0, 4)).toEqual(large.slice(0, 4));
      }
    }
    // Equal payloads may be stored once.
    expect(payloads.length).toBeGreaterThanOrEqual(2);
  });

  it('serves approval links without authentication, as pages for browsers', async () => {
    const save = { waitstate: 1, action: 'save', run: 'linked', expectedVersion: 0, agent: 'quotes', state: 1 };
    await scene.checkpoint(save);
    const approval = { name: 'buy', title: 'Buy?', approvers: ['user:ann'] };
    await scene.checkpoint({ waitstate: 1, action: 'requestApproval', run: 'linked', expectedVersion: 1, approval });
    const at = await scene.contexts.forRun('linked');
    const link = {
      tenant: at.tenant,
      run: 'linked',
      approval: 'buy',
      person: 'user:ann',
      expiresAt: scene.clock.now() + 1e6,
    } as const;
    const token = await linkFor(at, link);
    const page = await scene.api(linkEvent('GET', token, undefined, { headers: { accept: 'text/html', host: 'x' } }));
    expect([page.statusCode, page.isBase64Encoded, page.headers['content-type']]).toEqual([
      200,
      false,
      expect.stringMatching(/^text\/html/),
    ]);
    expect(page.body).toContain('Buy?');
    const head = await scene.api(linkEvent('HEAD', token));
    expect([head.statusCode, head.body]).toEqual([200, '']);
    const form = { headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' } };
    const body = Buffer.from('answer=approve&comment=%C3%BCber').toString('base64');
    const sent = await scene.api(linkEvent('POST', token, body, { ...form, isBase64Encoded: true }));
    expect([sent.statusCode, sent.headers.location]).toEqual([303, '?decided=true']);
    expect(JSON.parse((await scene.api(linkEvent('GET', token))).body)).toMatchObject({
      approval: { status: 'APPROVED', votes: [{ comment: 'über' }] },
    });
    expect(scene.logged.join()).not.toContain(token);
  });

  it('starts only registered agents if there are any', async () => {
    const sceneWithAgents = await handlerScene({ identify });
    const body = JSON.stringify({ agent: 'nobody' });
    const refused = await sceneWithAgents.api(authorized('POST', '/api/runs', { body }));
    expect([refused.statusCode, JSON.parse(refused.body).code]).toEqual([404, 'AGENT_NOT_FOUND']);
    expect(JSON.parse((await sceneWithAgents.api(authorized('GET', '/api/agents'))).body).agents).toEqual([
      { name: 'refunds' },
      { name: 'quotes' },
    ]);
  });

  it('reads the environment at its first invocation and names the missing variable', async () => {
    await expect(handler(httpEvent('GET', '/api/me'), {})).rejects.toThrow(/WAITSTATE_TABLE/);
  });
});

describe('a large response', () => {
  /** A run whose state is a list of texts that JSON escapes twice in a response of Lambda. */
  const saveQuotes = async (run: string, megabytes: number) => {
    const text = '"'.repeat(1000);
    const state = Array.from({ length: megabytes * 1000 }, () => text);
    await createCheckpointStore(scene.storage).save({ run, state });
  };

  it('is measured as Lambda does, with the escapes of its JSON string', async () => {
    await saveQuotes('quotes', 1.8);
    const path = '/api/runs/quotes/checkpoints/latest';
    const response = await scene.api(authorized('GET', path, { rawQueryString: `bytes=${2 * 1024 * 1024}` }));
    expect(Buffer.byteLength(JSON.stringify(response))).toBeLessThan(6 * 1024 * 1024);
  });

  it.each([
    ['does not exceed', 5_200_000, 'a'],
    ['exceeds', 5_300_000, 'a'],
    ['exceeds', 2_700_000, '"'],
    ['exceeds', 900_000, '\u0001'],
    ['exceeds', 1_800_000, '語'],
    ['does not exceed', 1_700_000, '語'],
  ])('%s the limit with %i times the character %j', (expected, length, character) => {
    expect(exceedsEscapedBytes(character.repeat(length), MAX_JSON_BYTES)).toBe(expected === 'exceeds');
  });

  it('becomes a problem, instead of a failed invocation, if Lambda would reject it', async () => {
    const telemetry = { log: () => {}, count: () => {}, runInvocation: <T>(run: () => Promise<T>) => run() };
    const api = createApiHandler({ ...scene.shared, identify, telemetry, signedUrls: undefined });
    const bytes = Buffer.alloc(5 * 1024 * 1024);
    const store = createCheckpointStore(scene.storage);
    await store.save({ run: 'blob', state: { file: payload(bytes) } });
    const { json } = { json: JSON.parse((await api(authorized('GET', '/api/runs/blob/checkpoints/latest'))).body) };
    const id = /"id":"([^"]+)"/.exec(JSON.stringify(json))?.[1];
    const response = await api(authorized('GET', `/api/runs/blob/checkpoints/1/payloads/${id}`));
    expect([response.statusCode, JSON.parse(response.body).code]).toEqual([413, 'TOO_LARGE']);
  });
});
