import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Project, ServerProcess } from './scene.ts';

const ASKS = `
  import { agent } from 'waitstate';
  export const asks = agent({ name: 'asks', run: (ctx) => ctx.approval('go', { title: 'Go?', approvers: ['user:ann'] }) });
`;

describe('the guard of the local server', () => {
  const project = new Project({ 'asks.ts': ASKS });
  const server = new ServerProcess(project, ['asks.ts']);
  let cookie = '';
  let link = '';

  beforeAll(async () => {
    await server.ready();
    const entered = await fetch(`${server.url}/?key=${server.key}`, { redirect: 'manual' });
    [cookie = ''] = (entered.headers.get('set-cookie') ?? '').split(';');
    await server.start('asks');
    link = await server.link();
  });
  afterAll(async () => {
    await server.kill();
    project.remove();
  });

  interface Raw {
    readonly method?: string;
    readonly target?: string;
    readonly headers?: readonly string[];
    readonly body?: string;
  }

  /** Sends what fetch would not, byte by byte, and gives status and body. */
  async function raw({ method = 'GET', target = '/api/runs', headers = [], body = '' }: Raw) {
    const socket = connect(server.port, '127.0.0.1');
    const length = body === '' ? [] : ['content-type: application/json', `content-length: ${body.length}`];
    socket.write([`${method} ${target} HTTP/1.1`, ...headers, ...length, 'connection: close', '', body].join('\r\n'));
    const answer = await text(socket);
    const status = Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1]);
    const found = answer.slice(answer.indexOf('\r\n\r\n')).match(/\{.*\}/s)?.[0];
    return { status, answer, code: found ? (JSON.parse(found) as { code?: string }).code : undefined };
  }

  const host = () => `host: 127.0.0.1:${server.port}`;
  const bearer = () => `authorization: Bearer ${server.key}`;
  const START = { method: 'POST', target: '/api/runs', body: JSON.stringify({ agent: 'asks' }) };

  describe('lets nobody in without the key', () => {
    it.each(['/api/runs', '/api/agents', '/console/runs', '/console/inbox'])('at %s', async (path) => {
      const answer = await fetch(server.url + path);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(await answer.json()).toMatchObject({
        ...{ code: 'NOT_AUTHENTICATED', status: 401 },
        detail: expect.stringContaining('Open the URL that the server printed'),
      });
    });

    it('and tells a browser so on a page', async () => {
      const accept = 'text/html,application/xhtml+xml';
      for (const query of ['key=wrong', 'ticket=wrong']) {
        const answer = await fetch(`${server.url}/?${query}`, { headers: { accept }, redirect: 'manual' });
        expect(answer.status).toBe(401);
        expect(answer.headers.get('content-type')).toMatch(/^text\/html/);
        expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
        expect(await answer.text()).toContain('Open the URL that');
      }
    });

    it('nor with another one', async () => {
      const others = [server.key.slice(1), `${server.key}x`, 'x'.repeat(43), '', cookie.split('=')[1] ?? ''];
      for (const other of others) {
        expect(await raw({ headers: [host(), `authorization: Bearer ${other}`] })).toMatchObject({ status: 401 });
        expect(await raw({ target: `/?key=${other}`, headers: [host()] })).toMatchObject({ status: 401 });
        expect(await raw({ headers: [host(), `cookie: waitstate-${server.port}=${other}x`] })).toMatchObject({
          status: 401,
        });
      }
      // The key itself is no cookie: browsers send cookies to all ports of this machine.
      expect(await raw({ headers: [host(), `cookie: waitstate-${server.port}=${server.key}`] })).toMatchObject({
        status: 401,
      });
      // A wrong key beside a right cookie is still wrong.
      expect(await raw({ headers: [host(), `cookie: ${cookie}`, 'authorization: Bearer x'] })).toMatchObject({
        status: 401,
      });
    });
  });

  it('lets programs in by the key, whatever the case of the scheme', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect(await raw({ headers: [host(), `authorization: ${scheme} ${server.key}`] })).toMatchObject({ status: 200 });
    expect(await raw({ ...START, headers: [host(), bearer()] })).toMatchObject({ status: 201 });
  });

  it('lets a browser in once by the URL, and then by a cookie that pages cannot read', async () => {
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

  describe('answers to no other name, so that a name which leads here (DNS rebinding) opens nothing', () => {
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
    ])('such as %s', async (name) => {
      const named = `host: ${name.replace('PORT', String(server.port))}`;
      for (const target of ['/api/runs', '/', `/?key=${server.key}`, new URL(link).pathname])
        expect((await raw({ target, headers: [named, bearer()] })).status).toBeOneOf([400, 403]);
    });

    it('nor without one, with two, or with another one in the request line', async () => {
      const two = [host(), 'host: evil.example', bearer()];
      expect(await raw({ headers: [bearer()] })).toMatchObject({ status: 400 });
      expect((await raw({ headers: two })).status).toBeOneOf([400, 403]);
      expect((await raw({ headers: two.toReversed() })).status).toBeOneOf([400, 403]);
      expect(await raw({ target: 'http://evil.example/api/runs', headers: [host(), bearer()] })).toMatchObject({
        status: 403,
        code: 'NOT_ALLOWED',
      });
    });

    it('but to each of its own', async () => {
      for (const name of ['127.0.0.1', 'localhost', 'LocalHost', '[::1]'])
        expect(await raw({ headers: [`host: ${name}:${server.port}`, bearer()] })).toMatchObject({ status: 200 });
    });
  });

  describe('takes nothing from pages of others (CSRF)', () => {
    const from = (...headers: readonly string[]) =>
      raw({ ...START, headers: [host(), `cookie: ${cookie}`, ...headers] });
    const REFUSED = { status: 403, code: 'NOT_ALLOWED' };

    it('that say where they are', async () => {
      for (const origin of [
        'https://evil.example',
        'http://127.0.0.1:1',
        'http://localhost',
        'null',
        `https://127.0.0.1:${server.port}`,
      ])
        expect(await from(`origin: ${origin}`)).toMatchObject(REFUSED);
    });

    it('nor from those that are on another port or site, whatever else they say', async () => {
      const own = `origin: http://127.0.0.1:${server.port}`;
      for (const site of ['cross-site', 'same-site', 'none']) {
        expect(await from(`sec-fetch-site: ${site}`)).toMatchObject(REFUSED);
        expect(await from(own, `sec-fetch-site: ${site}`)).toMatchObject(REFUSED);
      }
      expect(await from('origin: https://evil.example', 'sec-fetch-site: same-origin')).toMatchObject(REFUSED);
    });

    it('nor from those that do not say', async () => {
      expect(await from()).toMatchObject(REFUSED);
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
        expect((await raw({ method, headers: [host(), `cookie: ${cookie}`] })).status).toBe(403);
    });

    it('but from its own, also from one that keeps its address to itself', async () => {
      const own = `origin: http://127.0.0.1:${server.port}`;
      for (const headers of [
        [own],
        [own, 'sec-fetch-site: same-origin'],
        ['origin: null', 'sec-fetch-site: same-origin'],
      ])
        expect(await from(...headers)).toMatchObject({ status: 201 });
      // Two of its own names are two origins.
      expect(await from(`origin: http://localhost:${server.port}`)).toMatchObject(REFUSED);
    });

    it('and takes what a program with the key sends, wherever it comes from', async () => {
      expect(await raw({ ...START, headers: [host(), bearer(), 'origin: https://chat.example'] })).toMatchObject({
        status: 201,
      });
    });
  });

  it('opens links to whoever has them, and nothing else', async () => {
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

  it('is on this machine only', async () => {
    const addresses = (await import('node:os')).networkInterfaces();
    const others = Object.values(addresses)
      .flatMap((each) => each ?? [])
      .filter(({ internal, family }) => !internal && family === 'IPv4');
    for (const { address } of others) {
      const socket = connect(server.port, address);
      const [error] = await once(socket, 'error');
      expect(error).toMatchObject({ code: 'ECONNREFUSED' });
    }
    // Elsewhere than on Linux there is but one address of the loop.
    if (process.platform !== 'linux') return;
    const elsewhere = connect(server.port, '127.0.0.2');
    expect((await once(elsewhere, 'error'))[0]).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('tells no key and no token but the ones that it prints for the terminal', () => {
    expect(server.lines.filter((line) => line.includes(server.key))).toEqual([expect.stringMatching(/^serves /)]);
  });
});
