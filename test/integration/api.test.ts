import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { apiAt } from './story/api.ts';

/** An API with this listener, which records its requests. */
async function api(listener: RequestListener, signal = new AbortController().signal) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    listener(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`;
  return { requests, send: apiAt(url, async () => new Headers({ authorization: 'signed' }), signal) };
}

describe('the API client of the story', () => {
  it('returns the response, whether it is JSON or not', async () => {
    const { send } = await api(({ url }, response) =>
      response.writeHead(url === '/a' ? 201 : 503).end(url === '/a' ? '{"a":1}' : 'busy'),
    );
    expect(await send('GET', '/a')).toMatchObject({ request: 'GET /a', status: 201, body: { a: 1 } });
    expect(await send('GET', '/b')).toMatchObject({ status: 503, body: 'busy' });
  });

  it('retries a request without a response, up to a limit', async () => {
    const once = await api(({ socket }, response) =>
      once.requests.length < 3 ? socket.destroy() : response.end('{}'),
    );
    expect((await once.send('POST', '/a', { body: {} })).status).toBe(200);
    expect(once.requests).toEqual(Array.from({ length: 3 }, () => 'POST /a signed'));
    const never = await api(({ socket }) => socket.destroy());
    await expect(never.send('GET', '/a', { signed: false })).rejects.toThrow(/^GET http.*\/a got no response: /);
    expect(never.requests).toEqual(Array.from({ length: 3 }, () => 'GET /a undefined'));
  });

  it('does not retry after it was stopped', async () => {
    const stop = new AbortController();
    const { requests, send } = await api(() => stop.abort(new Error('stopped')), stop.signal);
    await expect(send('GET', '/a')).rejects.toThrow(/^stopped$/);
    expect(requests).toHaveLength(1);
  });
});
