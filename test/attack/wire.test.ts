import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalServer, serve } from '../../cli/dev/server/serve.ts';
import { render } from '../../cli/terminal/line.ts';

let server: LocalServer;
let folder: string;
let port = 0;
const printed: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'waitstate-wire-'));
  server = await serve({
    files: [],
    folder,
    port: 0,
    watch: false,
    print: (line) => void printed.push(render(line, (_, text) => text)),
  });
  await server.ready;
  port = Number(new URL(server.url).port);
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A request as bytes; adds the headers that every valid request has unless `lines` has them. */
function toBytes(line: string, lines: readonly string[] = [], body = ''): Buffer {
  const has = (name: string) => lines.some((each) => each.toLowerCase().startsWith(`${name}:`));
  const own = [
    ...(has('host') ? [] : [`Host: 127.0.0.1:${port}`]),
    ...(has('authorization') ? [] : [`Authorization: Bearer ${server.key}`]),
    ...(has('connection') ? [] : ['Connection: close']),
  ];
  return Buffer.from(`${[line, ...own, ...lines].join('\r\n')}\r\n\r\n${body}`, 'latin1');
}

/** Sends bytes and returns the response, until the server closes the connection or sends nothing for a while. */
async function send(bytes: Buffer, { end = false } = {}): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const chunks: Buffer[] = [];
  let lastDataAt = Date.now();
  socket.on('data', (chunk: Buffer) => {
    lastDataAt = Date.now();
    chunks.push(chunk);
  });
  const close = whenClosed(socket);
  socket.write(bytes);
  if (end) socket.end();
  let isClosed = false;
  void close.then(() => {
    isClosed = true;
  });
  while (!isClosed && Date.now() - lastDataAt < (chunks.length > 0 ? 300 : 2_000)) await pause(10);
  socket.destroy();
  await close;
  return Buffer.concat(chunks).toString('latin1');
}

const whenClosed = (socket: Socket): Promise<unknown> =>
  Promise.race([once(socket, 'close'), once(socket, 'error').then(() => once(socket, 'close'))]).catch(() => undefined);

const statusesIn = (response: string): readonly number[] =>
  [...response.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** Expects a response without a server error or internals, and that the server still answers the next request. */
async function expectUnharmed(response: string): Promise<void> {
  for (const status of statusesIn(response)) expect(status, response.slice(0, 500)).toBeLessThan(500);
  expect(response).not.toMatch(/\n\s+at |node_modules|\.[jt]s:\d+|file:\/\//);
  expect(response).not.toContain(process.cwd());
  const next = await send(toBytes('GET /api/me HTTP/1.1'));
  expect(statusesIn(next), next.slice(0, 300)).toEqual([200]);
}

describe('a malformed request', () => {
  const lines: readonly string[] = [
    ...[
      'GET',
      'GET /',
      '\0\0\0\0',
      'GET / HTTP/9.9',
      'GET  /  HTTP/1.1',
      'get /api/me HTTP/1.1',
      'BREW /api/me HTTP/1.1',
    ],
    ...['PRI * HTTP/2.0', 'OPTIONS * HTTP/1.1', 'CONNECT 127.0.0.1:1 HTTP/1.1', 'TRACE /api/me HTTP/1.1'],
    ...['GET http://evil.test/api/me HTTP/1.1', 'GET //evil.test/api/me HTTP/1.1', 'GET /api/me?\xff HTTP/1.1'],
    ...[
      'GET /api/runs/\xff\xfe HTTP/1.1',
      'GET /api/runs/\0 HTTP/1.1',
      'GET /api/runs/a b HTTP/1.1',
      'GET /\\..\\api HTTP/1.1',
    ],
    ...['GET /api/runs/%00 HTTP/1.1', 'GET /api/runs/%ff%fe HTTP/1.1', 'GET /api/../../../etc/passwd HTTP/1.1'],
    ...['GET /approvals/assets/..%2f..%2f..%2fpackage.json HTTP/1.1', 'GET /approvals/assets/%2e%2e/%2e%2e/x HTTP/1.1'],
    ...[
      'GET /console/%2e%2e/api/me HTTP/1.1',
      'GET /api/runs/%E0%80%AF HTTP/1.1',
      'GET /%61pi/me HTTP/1.1',
      'GET ? HTTP/1.1',
    ],
    ...[
      'GET /[::1 HTTP/1.1',
      'GET http://[ HTTP/1.1',
      'GET /api/me#x HTTP/1.1',
      'GET /:80 HTTP/1.1',
      'GET http://a:b@c/ HTTP/1.1',
    ],
    ...[
      `GET /${'a'.repeat(12_000)} HTTP/1.1`,
      `GET /${'%41'.repeat(50_000)} HTTP/1.1`,
      `${'G'.repeat(20_000)} / HTTP/1.1`,
    ],
  ];
  it.each(lines.map((line) => [line.length > 60 ? `${line.slice(0, 60)}…` : JSON.stringify(line), line]))(
    'does not harm the server with the request line %s',
    async (_, line) => {
      await expectUnharmed(await send(toBytes(line)));
    },
  );

  const heads: readonly (readonly [what: string, lines: readonly string[]])[] = [
    ['an empty Host header', ['Host:']],
    ['two Host headers', ['Host: 127.0.0.1', 'Host: evil.test']],
    ['an invalid Host header', ['Host: \xff\xfe[::']],
    ['a Host header that contains another host', ['Host: 127.0.0.1@evil.test']],
    ['two Authorization headers', ['Authorization: Bearer x', 'Authorization: Bearer y']],
    ['a binary Authorization header', ['Authorization: Bearer \xff\xff']],
    ['a header without a colon', ['nothing']],
    ['a folded header', ['X-A: a', ' b']],
    ['a NUL in a header', ['X-A: a\0b']],
    ['a binary header name', ['X\xff: a']],
    ['a thousand headers', Array.from({ length: 1_000 }, (_, i) => `X-${i}: a`)],
    ['a header of 12 KB', [`X-A: ${'a'.repeat(12_000)}`]],
    ['a header of 1 MB', [`X-A: ${'a'.repeat(1_000_000)}`]],
    ['a cookie of 12 KB', [`Cookie: ${'a=b;'.repeat(3_000)}`]],
    [
      'an Upgrade header',
      ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13'],
    ],
    ['a malformed Accept header', [`Accept: ${';q=,'.repeat(2_000)}`]],
    ['an invalid Range header', ['Range: bytes=0-0,5-99999999999999999999']],
    ['an unknown Expect header', ['Expect: the worst']],
  ];
  it.each(heads)('does not harm the server with %s', async (_, head) => {
    await expectUnharmed(await send(toBytes('GET /api/me HTTP/1.1', head)));
  });

  const json = 'Content-Type: application/json';
  const start = 'POST /api/runs HTTP/1.1';
  const smuggled = `GET /api/counts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
  const bodies: readonly (readonly [what: string, lines: readonly string[], body: string])[] = [
    ['an invalid Content-Length', [json, 'Content-Length: x'], '{}'],
    ['a negative Content-Length', [json, 'Content-Length: -1'], '{}'],
    ['two Content-Length headers', [json, 'Content-Length: 2', 'Content-Length: 50'], '{}'],
    ['a Content-Length and chunks', [json, 'Content-Length: 2', 'Transfer-Encoding: chunked'], `0\r\n\r\n${smuggled}`],
    [
      'two transfer encodings',
      [json, 'Transfer-Encoding: chunked', 'Transfer-Encoding: identity'],
      `0\r\n\r\n${smuggled}`,
    ],
    ['an invalid chunk size', [json, 'Transfer-Encoding: chunked'], 'zz\r\n{}\r\n'],
    ['a chunk of an enormous size', [json, 'Transfer-Encoding: chunked'], 'ffffffffffffffff\r\n{}'],
    ['an unknown transfer encoding', [json, 'Transfer-Encoding: xchunked'], '{}'],
    ['a body shorter than its Content-Length', [json, 'Content-Length: 500'], '{"agent":'],
    ['a body longer than its Content-Length', [json, 'Content-Length: 2'], `{}${smuggled}`],
    ['a gzip body', [json, 'Content-Encoding: gzip', 'Content-Length: 4'], '\x1f\x8b\x08\0'],
    ['an enormous Content-Length', [json, 'Content-Length: 99999999999'], '{'],
    ['a multipart form', ['Content-Type: multipart/form-data; boundary=x', 'Content-Length: 9'], '--x\r\n\r\n--x'],
  ];
  it.each(bodies)('does not harm the server with %s', async (_, head, body) => {
    const response = await send(toBytes(start, head, body), { end: true });
    await expectUnharmed(response);
    // Bytes after an ambiguous body must not count as a second request.
    expect(statusesIn(response).length, response).toBeLessThanOrEqual(1);
  });

  it('does not block others when many of them are never completed', async () => {
    const sockets = Array.from({ length: 200 }, () => connect(port, '127.0.0.1').on('error', () => {}));
    for (const [i, socket] of sockets.entries()) socket.write(['', 'GET', 'GET / HTTP/1.1\r\nX-A: '][i % 3] ?? '');
    await expectUnharmed('');
    for (const socket of sockets) socket.destroy();
  });

  it('does not harm the server when many senders disconnect immediately', async () => {
    for (let i = 0; i < 100; i++) {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.write(
        toBytes(i % 2 ? 'GET /console/runs HTTP/1.1' : start, i % 2 ? [] : [json, 'Content-Length: 100'], '{'),
      );
      setTimeout(() => socket.resetAndDestroy(), i % 7);
    }
    await pause(200);
    await expectUnharmed('');
  });

  it('leaves no key and no error in the log', () => {
    expect(printed.filter((line) => line.includes(server.key) || / at |Error/.test(line))).toEqual([]);
  });
});
