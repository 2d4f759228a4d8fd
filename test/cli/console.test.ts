import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startProxy } from '../../cli/commands/console/signing-proxy.ts';
import { writeServerFile } from '../../cli/dev/server/server-file.ts';
import { createApi } from '../../lambda/api/app.ts';
import { contextFactory } from '../../lambda/checkpoints/context-factory.ts';
import { STACK_OUTPUTS } from '../../lambda/handlers/stack-outputs.ts';
import { ROLES } from '../../lambda/http/caller.ts';
import { systemClock } from '../../lambda/runtime/clock.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { fakeCloudFormation } from './fake-cloud-formation.ts';
import { runProcess, startProcess } from './process.ts';
import { freshFolder, run } from './scene.ts';
import { servedFolder } from './served-folder.ts';
import { signatureProblem } from './signature.ts';

const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret+/=', sessionToken: 'session//token==' };
const ENVIRONMENT = {
  ...{
    AWS_ACCESS_KEY_ID: KEY.accessKeyId,
    AWS_SECRET_ACCESS_KEY: KEY.secretAccessKey,
    AWS_SESSION_TOKEN: KEY.sessionToken,
  },
  ...{
    AWS_REGION: 'eu-west-1',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_EC2_METADATA_DISABLED: 'true',
  },
};

afterEach(() => void vi.unstubAllEnvs());

type RequestHandler = (request: IncomingMessage & { readonly body: Buffer }, response: ServerResponse) => unknown;

/** Starts an API that accepts only correctly signed requests, like API Gateway. */
async function signedApi(handle: RequestHandler = (_, response) => response.end('ok')): Promise<string> {
  const server = createServer(async (request, response) => {
    const body = await buffer(request);
    const refusal = signatureProblem(request, body, KEY, 'eu-west-1');
    if (refusal !== undefined) response.writeHead(403).end(refusal);
    else await handle(Object.assign(request, { body }), response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

/** Starts a proxy in front of an API, and signs a browser in. */
async function proxied(handle?: RequestHandler, stage = '') {
  for (const [name, value] of Object.entries(ENVIRONMENT)) vi.stubEnv(name, value);
  const proxy = await startProxy({ apiUrl: `${await signedApi(handle)}${stage}`, tenant: 'default' });
  onTestFinished(() => proxy.close());
  const { origin, searchParams } = new URL(proxy.url);
  const signIn = await fetch(proxy.url, { redirect: 'manual' });
  const cookie = signIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const get = (path: string, init: RequestInit = {}) =>
    fetch(`${origin}${path}`, { redirect: 'manual', ...init, headers: { cookie, ...init.headers } });
  return { origin, key: searchParams.get('key') ?? '', cookie, get, signIn };
}

describe('the proxy of waitstate console --stack', () => {
  it.each([
    '/console/runs',
    '/',
    '/api/runs?status=FAILED&status=READY&limit=10',
    '/api/runs/a%2Fb%20c',
    "/api/runs/it's(odd)*!",
    '/api/runs?id=%C3%A9%20%2B+x&empty=',
  ])('forwards and signs a request to %s', async (path) => {
    const { get } = await proxied((request, response) => response.end(request.url));
    const response = await get(path);
    expect([response.status, await response.text()]).toEqual([200, path]);
  });

  it('forwards and signs a request body with its type', async () => {
    const { get, origin } = await proxied((request, response) => {
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ type: request.headers['content-type'], text: request.body.toString() }));
    });
    const body = JSON.stringify({ agent: 'travel', input: { to: 'Zürich' } });
    const headers = { 'content-type': 'application/json', origin };
    const response = await get('/api/runs', { method: 'POST', body, headers });
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ type: 'application/json', text: body });
  });

  it('returns status and headers, but no cookies and nothing to cache', async () => {
    const { get } = await proxied((_, response) => {
      response.writeHead(412, {
        'content-type': 'application/problem+json',
        'content-security-policy': "default-src 'none'",
        'cache-control': 'public, max-age=31536000',
        'set-cookie': 'a=b',
        'strict-transport-security': 'max-age=1',
        etag: '"7"',
      });
      response.end('{}');
    });
    const { status, headers } = await get('/api/runs/x');
    expect(status).toBe(412);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(headers.get('content-security-policy')).toBe("default-src 'none'");
    expect(headers.get('etag')).toBe('"7"');
    expect(headers.get('cache-control')).toBe('no-store');
    expect([headers.get('set-cookie'), headers.get('strict-transport-security')]).toEqual([null, null]);
  });

  it('does not forward headers that belong to the browser connection', async () => {
    const { get } = await proxied((request, response) => response.end(JSON.stringify(request.headers)));
    const headers = { 'accept-language': 'de', 'x-amz-date': 'x', 'x-forwarded-for': '1' };
    const sent = (await (await get('/', { headers })).json()) as Record<string, string>;
    expect(sent).toMatchObject({ 'accept-language': 'de' });
    expect([sent['x-forwarded-for'], sent.cookie, sent.origin]).toEqual([undefined, undefined, undefined]);
  });

  it('streams responses', async () => {
    let finish = () => {};
    const { get } = await proxied((_, response) => {
      response.write('first');
      finish = () => response.end('second');
    });
    const reader = (await get('/api/events')).body?.getReader();
    const first = await reader?.read();
    expect(Buffer.from(first?.value ?? []).toString()).toBe('first');
    finish();
    const second = await reader?.read();
    expect(Buffer.from(second?.value ?? []).toString()).toBe('second');
  });

  it('supports an API stage, and rewrites locations of the API to its own', async () => {
    const { get } = await proxied((request, response) => {
      const { host = '' } = request.headers;
      const [, to = ''] = request.url?.split('to=') ?? [];
      response.writeHead(303, { location: decodeURIComponent(to).replace('HOST', host) }).end();
    }, '/prod/');
    const location = async (to: string) => (await get(`/console?to=${encodeURIComponent(to)}`)).headers.get('location');
    expect(await location('/prod/console/runs?x=1#top')).toBe('/console/runs?x=1#top');
    expect(await location('http://HOST/prod/console')).toBe('/console');
    expect(await location('https://elsewhere.example/prod/console')).toBe('https://elsewhere.example/prod/console');
  });

  it('accepts only requests with the key, for its own host name and from its own pages', async () => {
    const { origin, key, cookie, signIn, get } = await proxied();
    expect(signIn.status).toBe(303);
    expect(signIn.headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Strict/);
    expect((await fetch(`${origin}/console`)).status).toBe(401);
    expect((await fetch(`${origin}/?key=${'x'.repeat(43)}`, { redirect: 'manual' })).status).toBe(401);
    expect((await fetch(`${origin}/api/runs`, { headers: { authorization: `Bearer ${key}` } })).status).toBe(200);
    // Approval links need the key too, because the proxy signs with the user's credentials.
    expect((await fetch(`${origin}/approvals/token`)).status).toBe(401);
    expect((await fetch(`${origin}/approvals/token`, { method: 'POST' })).status).toBe(401);
    expect((await get('/api/runs', { method: 'POST', headers: { origin: 'https://evil.example' } })).status).toBe(403);
    expect((await get('/api/runs', { method: 'POST' })).status).toBe(403);
    expect(await statusFor(origin, { host: 'evil.example', cookie })).toBe(403);
    expect(await statusFor(origin, { cookie })).toBe(200);
  });

  it('rejects a body that is too large for API Gateway', async () => {
    const { get, origin } = await proxied();
    const body = Buffer.alloc(10 * 1024 * 1024 + 1);
    expect((await get('/api/runs', { method: 'POST', body, headers: { origin } })).status).toBe(413);
  });

  it('reports an API that does not respond, and expired credentials', async () => {
    for (const [name, value] of Object.entries(ENVIRONMENT)) vi.stubEnv(name, value);
    const responseOf = async (options: Parameters<typeof startProxy>[0]) => {
      const proxy = await startProxy(options);
      onTestFinished(() => proxy.close());
      const { origin, searchParams } = new URL(proxy.url);
      const response = await fetch(`${origin}/`, { headers: { authorization: `Bearer ${searchParams.get('key')}` } });
      return { status: response.status, problem: (await response.json()) as { readonly detail: string } };
    };
    const gone = await responseOf({ apiUrl: 'http://127.0.0.1:9', tenant: 'default' });
    expect(gone).toMatchObject({
      status: 502,
      problem: { detail: expect.stringContaining('The API did not respond') },
    });
    const expired = Object.assign(new Error('The token has expired.'), { name: 'TokenProviderError' });
    const loggedOut = await responseOf({
      apiUrl: 'http://127.0.0.1:9',
      tenant: 'default',
      sign: () => Promise.reject(expired),
    });
    expect(loggedOut).toMatchObject({ status: 502, problem: { detail: expect.stringContaining('aws sso login') } });
  });
});

describe('the console behind the proxy', () => {
  it('shows its pages, and starts a run from one of them', async () => {
    const folder = freshFolder();
    const contexts = contextFactory(embeddedStorage({ folder }), {});
    onTestFinished(() => contexts.close());
    const app = createApi({
      runtime: { contexts, clock: systemClock, random: Math.random, log: () => {} },
      identify: () => ({ tenant: 'default', groups: [], roles: new Set(ROLES), decidesForOthers: false }),
      telemetry: { log: () => {}, count: () => {} },
    });
    const { get, origin } = await proxied(async ({ url = '', method = '', headers, body }, response) => {
      const sent = Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]);
      const result = await app.fetch(
        new Request(`https://api.example${url}`, {
          method,
          headers: sent,
          ...(body.length > 0 && { body: new Uint8Array(body) }),
        }),
      );
      response
        .writeHead(result.status, Object.fromEntries(result.headers))
        .end(Buffer.from(await result.arrayBuffer()));
    });
    const home = await get('/');
    expect([home.status, home.headers.get('location')]).toEqual([302, '/console']);
    const page = await get('/console/runs', { headers: { accept: 'text/html' } });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const [, asset = ''] = /(?:href|src)="(\/approvals\/assets\/[^"]+)"/.exec(await page.text()) ?? [];
    expect((await get(asset)).status).toBe(200);
    const headers = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', origin };
    const started = await get('/api/runs', {
      method: 'POST',
      headers,
      body: JSON.stringify({ agent: 'travel', id: 'trip-1' }),
    });
    expect(started.status).toBe(201);
    expect((await run(['show', 'trip-1', '--json', '--folder', folder])).json()).toMatchObject([{ status: 'READY' }]);
  });
});

/** The status of a request with a host header that fetch does not allow. */
const statusFor = (origin: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    httpRequest(`${origin}/console`, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });

describe('waitstate console', () => {
  it('prints the URL of the server on a folder, with its key', async () => {
    const folder = freshFolder();
    const key = 'k'.repeat(43);
    using _ = await servedFolder(folder);
    await writeServerFile(folder, { key, port: 4180, url: 'http://127.0.0.1:4180', pid: process.pid });
    const { code, out } = await run(['console', '--folder', folder]);
    expect([code, out]).toEqual([0, `✓ http://127.0.0.1:4180/?key=${key}\n`]);
    const [shown] = (await run(['console', '--folder', folder, '--json'])).json();
    expect(shown).toEqual({ url: `http://127.0.0.1:4180/?key=${key}`, pid: process.pid });
  });

  it('says how to start a server if none is running', async () => {
    const { code, err } = await run(['console', '--folder', freshFolder()]);
    expect(code).toBe(3);
    expect(err).toContain('Start one with "waitstate dev --folder');
  });

  it('runs a proxy to a stack until Ctrl-C, which signs with the credentials of the environment', async () => {
    const apiUrl = await signedApi((_, response) => response.end('the console'));
    const stacks = {
      agents: { [STACK_OUTPUTS.table]: 't', [STACK_OUTPUTS.bucket]: 'b', [STACK_OUTPUTS.apiUrl]: apiUrl },
    };
    const env = { ...ENVIRONMENT, AWS_ENDPOINT_URL_CLOUDFORMATION: await fakeCloudFormation(stacks) };
    const child = startProcess(['console', '--stack', 'agents', '--json', '--no-open'], env);
    onTestFinished(() => void child.kill('SIGKILL'));
    const [line] = await once(child.stdout, 'data');
    const { url } = JSON.parse(String(line));
    const { origin, searchParams } = new URL(url);
    const response = await fetch(`${origin}/console`, {
      headers: { authorization: `Bearer ${searchParams.get('key')}` },
    });
    expect([response.status, await response.text()]).toEqual([200, 'the console']);
    await setTimeout(50);
    child.kill('SIGINT');
    const [code] = await once(child, 'close');
    expect(code).toBe(0);
  });

  it('fails immediately for a stack if there are no AWS credentials', async () => {
    const stacks = {
      agents: { [STACK_OUTPUTS.table]: 't', [STACK_OUTPUTS.bucket]: 'b', [STACK_OUTPUTS.apiUrl]: 'http://127.0.0.1:9' },
    };
    const env = { ...ENVIRONMENT, AWS_ENDPOINT_URL_CLOUDFORMATION: await fakeCloudFormation(stacks) };
    const none = { ...env, AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' };
    expect((await runProcess(['console', '--stack', 'agents'], { env: none })).code).toBe(5);
  });
});
