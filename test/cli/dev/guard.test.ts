import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedServer } from './scene.ts';

const ASKS = `
  import { agent } from 'waitstate';
  export const asks = agent({ name: 'asks', run: (ctx) => ctx.approval('go', { title: 'Go?', approvers: ['user:ann'] }) });
`;

describe('the guard of the local server', () => {
  const { server } = sharedServer({ 'asks.ts': ASKS });
  let cookie = '';
  let link = '';

  beforeAll(async () => {
    const entered = await fetch(`${server.url}/?key=${server.key}`, { redirect: 'manual' });
    [cookie = ''] = (entered.headers.get('set-cookie') ?? '').split(';');
    link = await server.link(await server.start('asks'));
  });

  interface RawRequest {
    readonly method?: string;
    readonly target?: string;
    readonly headers?: readonly string[];
    readonly body?: string;
  }

  /** Sends a request that fetch would not send, and returns status and body. */
  async function raw({ method = 'GET', target = '/api/runs', headers = [], body = '' }: RawRequest) {
    const socket = connect(server.port, '127.0.0.1');
    const length = body === '' ? [] : ['content-type: application/json', `content-length: ${body.length}`];
    socket.write([`${method} ${target} HTTP/1.1`, ...headers, ...length, 'connection: close', '', body].join('\r\n'));
    const response = await text(socket);
    const status = Number(/^HTTP\/1.1 (\d+)/.exec(response)?.[1]);
    const found = response.slice(response.indexOf('\r\n\r\n')).match(/\{.*\}/s)?.[0];
    return { status, response, code: found ? (JSON.parse(found) as { code?: string }).code : undefined };
  }

  const host = () => `host: 127.0.0.1:${server.port}`;
  const bearer = () => `authorization: Bearer ${server.key}`;
  const START = { method: 'POST', target: '/api/runs', body: JSON.stringify({ agent: 'asks' }) };

  describe('authentication', () => {
    it.each(['/api/runs', '/api/agents', '/console/runs', '/console/inbox'])(
      'rejects requests without the key at %s',
      async (path) => {
        const response = await fetch(server.url + path);
        expect(response.status).toBe(401);
        expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
        expect(await response.json()).toMatchObject({
          ...{ code: 'NOT_AUTHENTICATED', status: 401 },
          detail: expect.stringContaining('Open the URL that the server printed'),
        });
      },
    );

    it('responds to a browser with a page', async () => {
      const accept = 'text/html,application/xhtml+xml';
      for (const query of ['key=wrong', 'ticket=wrong']) {
        const response = await fetch(`${server.url}/?${query}`, { headers: { accept }, redirect: 'manual' });
        expect(response.status).toBe(401);
        expect(response.headers.get('content-type')).toMatch(/^text\/html/);
        expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
        expect(await response.text()).toContain('Open the URL that');
      }
    });

    it('rejects a wrong key', async () => {
      const others = [server.key.slice(1), `${server.key}x`, 'x'.repeat(43), '', cookie.split('=')[1] ?? ''];
      for (const other of others) {
        expect(await raw({ headers: [host(), `authorization: Bearer ${other}`] })).toMatchObject({ status: 401 });
        expect(await raw({ target: `/?key=${other}`, headers: [host()] })).toMatchObject({ status: 401 });
        expect(await raw({ headers: [host(), `cookie: waitstate-${server.port}=${other}x`] })).toMatchObject({
          status: 401,
        });
      }
      // The key itself is not a valid cookie, because browsers send cookies to all ports of a host.
      expect(await raw({ headers: [host(), `cookie: waitstate-${server.port}=${server.key}`] })).toMatchObject({
        status: 401,
      });
      // A wrong key is rejected even with a valid cookie.
      expect(await raw({ headers: [host(), `cookie: ${cookie}`, 'authorization: Bearer x'] })).toMatchObject({
        status: 401,
      });
    });
  });

  it('accepts programs with the key, whatever the case of the scheme', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect(await raw({ headers: [host(), `authorization: ${scheme} ${server.key}`] })).toMatchObject({ status: 200 });
    expect(await raw({ ...START, headers: [host(), bearer()] })).toMatchObject({ status: 201 });
  });

  it('signs a browser in with the URL, and then with a cookie that pages cannot read', async () => {
    const entered = await fetch(`${server.url}/?key=${server.key}`, { redirect: 'manual' });
    expect(entered.status).toBe(303);
    expect(entered.headers.get('location')).toBe('/');
    expect(entered.headers.get('cache-control')).toBe('no-store');
    expect(entered.headers.get('referrer-policy')).toBe('no-referrer');
    const set = entered.headers.get('set-cookie') ?? '';
    expect(set).toMatch(/; HttpOnly/);
    expect(set).toMatch(/; SameSite=Strict/);
    expect(set).not.toContain(server.key);
    expect(await raw({ headers: [host(), `cookie: other=1; ${cookie}`] })).toMatchObject({ status: 200 });
  });

  describe('protection against DNS rebinding', () => {
    it.each([
      'evil.example',
      'evil.example:80',
      '127.0.0.1',
      'localhost',
      '127.0.0.1:1',
      '0.0.0.0:PORT',
      '127.0.0.1.evil.example:PORT',
      'localhost.evil.example:PORT',
      'evil.example:PORT',
      '127.1:PORT',
      '2130706433:PORT',
      'user@127.0.0.1:PORT',
      '127.0.0.1:PORT/evil.example',
    ])('rejects the host name %s', async (name) => {
      const named = `host: ${name.replace('PORT', String(server.port))}`;
      for (const target of ['/api/runs', '/', `/?key=${server.key}`, new URL(link).pathname])
        expect((await raw({ target, headers: [named, bearer()] })).status).toBeOneOf([400, 403]);
    });

    it('rejects a missing host, two hosts, and another host in the request line', async () => {
      const two = [host(), 'host: evil.example', bearer()];
      expect(await raw({ headers: [bearer()] })).toMatchObject({ status: 400 });
      expect((await raw({ headers: two })).status).toBeOneOf([400, 403]);
      expect((await raw({ headers: two.toReversed() })).status).toBeOneOf([400, 403]);
      expect(await raw({ target: 'http://evil.example/api/runs', headers: [host(), bearer()] })).toMatchObject({
        status: 403,
        code: 'NOT_ALLOWED',
      });
    });

    it('accepts each of its own host names', async () => {
      for (const name of ['127.0.0.1', 'localhost', 'LocalHost', '[::1]'])
        expect(await raw({ headers: [`host: ${name}:${server.port}`, bearer()] })).toMatchObject({ status: 200 });
    });
  });

  describe('protection against CSRF', () => {
    const from = (...headers: readonly string[]) =>
      raw({ ...START, headers: [host(), `cookie: ${cookie}`, ...headers] });
    const REFUSED = { status: 403, code: 'NOT_ALLOWED' };

    it('rejects pages of other origins', async () => {
      for (const origin of [
        'https://evil.example',
        'http://127.0.0.1:1',
        'http://localhost',
        'null',
        `https://127.0.0.1:${server.port}`,
      ])
        expect(await from(`origin: ${origin}`)).toMatchObject(REFUSED);
    });

    it('rejects pages of another site or port, whatever origin they send', async () => {
      const own = `origin: http://127.0.0.1:${server.port}`;
      for (const site of ['cross-site', 'same-site', 'none']) {
        expect(await from(`sec-fetch-site: ${site}`)).toMatchObject(REFUSED);
        expect(await from(own, `sec-fetch-site: ${site}`)).toMatchObject(REFUSED);
      }
      expect(await from('origin: https://evil.example', 'sec-fetch-site: same-origin')).toMatchObject(REFUSED);
    });

    it('rejects requests without an origin', async () => {
      expect(await from()).toMatchObject(REFUSED);
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
        expect((await raw({ method, headers: [host(), `cookie: ${cookie}`] })).status).toBe(403);
    });

    it('accepts its own pages, including those without a referrer', async () => {
      const own = `origin: http://127.0.0.1:${server.port}`;
      for (const headers of [
        [own],
        [own, 'sec-fetch-site: same-origin'],
        ['origin: null', 'sec-fetch-site: same-origin'],
      ])
        expect(await from(...headers)).toMatchObject({ status: 201 });
      // Two of its own host names are two origins.
      expect(await from(`origin: http://localhost:${server.port}`)).toMatchObject(REFUSED);
    });

    it('accepts any origin from a program with the key', async () => {
      expect(await raw({ ...START, headers: [host(), bearer(), 'origin: https://chat.example'] })).toMatchObject({
        status: 201,
      });
    });
  });

  it('accepts approval links without the key, but nothing else', async () => {
    const { pathname } = new URL(link);
    expect(await raw({ target: pathname, headers: [host()] })).toMatchObject({ status: 200 });
    const forged = pathname.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    expect(await raw({ target: forged, headers: [host()] })).toMatchObject({ status: 404, code: 'APPROVAL_NOT_FOUND' });
    // The token is the secret: a mail client has no origin.
    const body = JSON.stringify({ answer: 'approve' });
    expect(await raw({ method: 'POST', target: pathname, body, headers: [host()] })).toMatchObject({ status: 200 });
    expect(await raw({ method: 'POST', target: `${pathname}/payloads`, body, headers: [host()] })).toMatchObject({
      status: 403,
    });
    expect(await raw({ method: 'DELETE', target: pathname, headers: [host()] })).toMatchObject({ status: 403 });
  });

  it('listens on the loopback address only', async () => {
    const addresses = (await import('node:os')).networkInterfaces();
    const others = Object.values(addresses)
      .flatMap((each) => each ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4');
    for (const { address } of others) {
      const socket = connect(server.port, address);
      const [error] = await once(socket, 'error');
      expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    }
    // Only Linux has more than one loopback address.
    if (process.platform !== 'linux') return;
    const elsewhere = connect(server.port, '127.0.0.2');
    expect((await once(elsewhere, 'error'))[0]).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('logs the key only in its own URL', () => {
    expect(server.lines.filter((line) => line.includes(server.key))).toEqual([expect.stringMatching(/^serves /)]);
  });
});
