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
const said: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'waitstate-wire-'));
  server = await serve({
    files: [],
    folder,
    port: 0,
    watch: false,
    print: (line) => void said.push(render(line, (_, text) => text)),
  });
  await server.ready;
  port = Number(new URL(server.url).port);
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A request as bytes; `head` are its lines, with those that every honest one has where they are not given. */
function bytesOf(line: string, lines: readonly string[] = [], body = ''): Buffer {
  const has = (name: string) => lines.some((each) => each.toLowerCase().startsWith(`${name}:`));
  const own = [
    ...(has('host') ? [] : [`Host: 127.0.0.1:${port}`]),
    ...(has('authorization') ? [] : [`Authorization: Bearer ${server.key}`]),
    ...(has('connection') ? [] : ['Connection: close']),
  ];
  return Buffer.from(`${[line, ...own, ...lines].join('\r\n')}\r\n\r\n${body}`, 'latin1');
}

/** Sends bytes and gives all that comes back, until the server is done or nothing comes for a while. */
async function answerTo(bytes: Buffer, { end = false } = {}): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const pieces: Buffer[] = [];
  let heard = Date.now();
  socket.on('data', (piece: Buffer) => {
    heard = Date.now();
    pieces.push(piece);
  });
  const over = closed(socket);
  socket.write(bytes);
  if (end) socket.end();
  let isOver = false;
  void over.then(() => {
    isOver = true;
  });
  while (!isOver && Date.now() - heard < (pieces.length > 0 ? 300 : 2_000)) await pause(10);
  socket.destroy();
  await over;
  return Buffer.concat(pieces).toString('latin1');
}

const closed = (socket: Socket): Promise<unknown> =>
  Promise.race([once(socket, 'close'), once(socket, 'error').then(() => once(socket, 'close'))]).catch(() => undefined);

const statusesIn = (answer: string): readonly number[] =>
  [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** That an answer is a refusal or an answer, and nothing of the insides; that the server is well, the next one shows. */
async function expectUnharmed(answer: string): Promise<void> {
  for (const status of statusesIn(answer)) expect(status, answer.slice(0, 500)).toBeLessThan(500);
  expect(answer).not.toMatch(/\n\s+at |node_modules|\.[jt]s:\d+|file:\/\//);
  expect(answer).not.toContain(process.cwd());
  const next = await answerTo(bytesOf('GET /api/me HTTP/1.1'));
  expect(statusesIn(next), next.slice(0, 300)).toEqual([200]);
}

describe('bytes that are hardly a request', () => {
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
    '%s',
    async (_, line) => {
      await expectUnharmed(await answerTo(bytesOf(line)));
    },
  );

  const heads: readonly (readonly [what: string, lines: readonly string[]])[] = [
    ['no host', ['Host:']],
    ['two hosts', ['Host: 127.0.0.1', 'Host: evil.test']],
    ['a host that is none', ['Host: \xff\xfe[::']],
    ['a host with another in it', ['Host: 127.0.0.1@evil.test']],
    ['two authorizations', ['Authorization: Bearer x', 'Authorization: Bearer y']],
    ['an authorization of bytes', ['Authorization: Bearer \xff\xff']],
    ['a header without a colon', ['nothing']],
    ['a header that goes on', ['X-A: a', ' b']],
    ['a NUL in a header', ['X-A: a\0b']],
    ['a name of bytes', ['X\xff: a']],
    ['a thousand headers', Array.from({ length: 1_000 }, (_, i) => `X-${i}: a`)],
    ['a header of 12 KB', [`X-A: ${'a'.repeat(12_000)}`]],
    ['a header of 1 MB', [`X-A: ${'a'.repeat(1_000_000)}`]],
    ['a cookie of 12 KB', [`Cookie: ${'a=b;'.repeat(3_000)}`]],
    ['an upgrade', ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Key: x', 'Sec-WebSocket-Version: 13']],
    ['an accept of nonsense', [`Accept: ${';q=,'.repeat(2_000)}`]],
    ['a range', ['Range: bytes=0-0,5-99999999999999999999']],
    ['an expectation', ['Expect: the worst']],
  ];
  it.each(heads)('%s', async (_, head) => {
    await expectUnharmed(await answerTo(bytesOf('GET /api/me HTTP/1.1', head)));
  });

  const json = 'Content-Type: application/json';
  const start = 'POST /api/runs HTTP/1.1';
  const smuggled = `GET /api/counts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
  const bodies: readonly (readonly [what: string, lines: readonly string[], body: string])[] = [
    ['a length that is none', [json, 'Content-Length: x'], '{}'],
    ['a length below none', [json, 'Content-Length: -1'], '{}'],
    ['two lengths', [json, 'Content-Length: 2', 'Content-Length: 50'], '{}'],
    ['a length and chunks', [json, 'Content-Length: 2', 'Transfer-Encoding: chunked'], `0\r\n\r\n${smuggled}`],
    ['chunks, twice', [json, 'Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], `0\r\n\r\n${smuggled}`],
    ['chunks of no size', [json, 'Transfer-Encoding: chunked'], 'zz\r\n{}\r\n'],
    ['a chunk of endless size', [json, 'Transfer-Encoding: chunked'], 'ffffffffffffffff\r\n{}'],
    ['an encoding that is none', [json, 'Transfer-Encoding: xchunked'], '{}'],
    ['less than it says, and then no more', [json, 'Content-Length: 500'], '{"agent":'],
    ['more than it says', [json, 'Content-Length: 2'], `{}${smuggled}`],
    ['a body of gzip', [json, 'Content-Encoding: gzip', 'Content-Length: 4'], '\x1f\x8b\x08\0'],
    ['a body that is announced and huge', [json, 'Content-Length: 99999999999'], '{'],
    ['a form of parts', ['Content-Type: multipart/form-data; boundary=x', 'Content-Length: 9'], '--x\r\n\r\n--x'],
  ];
  it.each(bodies)('%s', async (_, head, body) => {
    const answer = await answerTo(bytesOf(start, head, body), { end: true });
    await expectUnharmed(answer);
    // What comes behind a body that ends in two ways is no request of its own.
    expect(statusesIn(answer).length, answer).toBeLessThanOrEqual(1);
  });

  it('many that are never finished do not keep others waiting', async () => {
    const sockets = Array.from({ length: 200 }, () => connect(port, '127.0.0.1').on('error', () => {}));
    for (const [i, socket] of sockets.entries()) socket.write(['', 'GET', 'GET / HTTP/1.1\r\nX-A: '][i % 3] ?? '');
    await expectUnharmed('');
    for (const socket of sockets) socket.destroy();
  });

  it('many whose senders leave at once do no harm', async () => {
    for (let i = 0; i < 100; i++) {
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.write(
        bytesOf(i % 2 ? 'GET /console/runs HTTP/1.1' : start, i % 2 ? [] : [json, 'Content-Length: 100'], '{'),
      );
      setTimeout(() => socket.resetAndDestroy(), i % 7);
    }
    await pause(200);
    await expectUnharmed('');
  });

  it('leave nothing of themselves in the log, and no error', () => {
    expect(said.filter((line) => line.includes(server.key) || / at |Error/.test(line))).toEqual([]);
  });
});
