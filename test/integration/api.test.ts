import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { apiAt } from './story/api.ts';

/** An API that answers as it is told to; what it was sent is kept. */
async function api(listener: RequestListener, signal = new AbortController().signal) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    listener(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`;
  return { seen, ask: apiAt(url, async () => new Headers({ authorization: 'signed' }), signal) };
}

describe('the API as the story asks it', () => {
  it('gives what is answered, whether it is JSON or not', async () => {
    const { ask } = await api(({ url }, response) =>
      response.writeHead(url === '/a' ? 201 : 503).end(url === '/a' ? '{"a":1}' : 'busy'),
    );
    expect(await ask('GET', '/a')).toMatchObject({ request: 'GET /a', status: 201, body: { a: 1 } });
    expect(await ask('GET', '/b')).toMatchObject({ status: 503, body: 'busy' });
  });

  it('asks again when nothing comes back, and not for ever', async () => {
    const once = await api(({ socket }, response) => (once.seen.length < 3 ? socket.destroy() : response.end('{}')));
    expect((await once.ask('POST', '/a', { body: {} })).status).toBe(200);
    expect(once.seen).toEqual(Array.from({ length: 3 }, () => 'POST /a signed'));
    const never = await api(({ socket }) => socket.destroy());
    await expect(never.ask('GET', '/a', { signed: false })).rejects.toThrow(/^GET http.*\/a got no answer: /);
    expect(never.seen).toEqual(Array.from({ length: 3 }, () => 'GET /a undefined'));
  });

  it('does not ask again once it was stopped', async () => {
    const stop = new AbortController();
    const { seen, ask } = await api(() => stop.abort(new Error('stopped')), stop.signal);
    await expect(ask('GET', '/a')).rejects.toThrow(/^stopped$/);
    expect(seen).toHaveLength(1);
  });
});
