import { describe, expect, it } from 'vitest';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { HTTP_STATUS } from '../../lambda/http/http-status.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { apiScene } from './scene.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

describe('a request body', () => {
  it.each([
    ['is not JSON', '{"agent":', 'Line 1, column 10'],
    ['is a list', '[]', 'expected object'],
    ['is null', 'null', 'expected object'],
    ['is text', '"agent"', 'expected object'],
    ['has a field of another type', '{"agent":7}', 'agent: '],
    ['has an unknown field', '{"agent":"a","tenant":"other"}', 'tenant: is unknown'],
    ['has a prototype', '{"agent":"a","__proto__":{"owner":"x"}}', '__proto__: is unknown'],
    ['lacks a field', '{}', 'agent: '],
    ['has an unknown unit of time', '{"agent":"a","timeout":{"weeks":1}}', 'timeout/weeks: is unknown'],
    ['has a time below zero', '{"agent":"a","timeout":{"days":-1}}', 'timeout/days: '],
    ['has too many tags', `{"agent":"a","tags":${JSON.stringify(Array(51).fill('t'))}}`, 'tags: '],
    ['has an input that is not a document', '{"agent":"a","input":{"$":["nonsense"]}}', 'not a valid document'],
    ['has an input that refers to a payload', '{"agent":"a","input":{"$":["payload","x","y",1]}}', 'payload'],
    ['has half a surrogate in an id', '{"agent":"a","id":"\\ud800"}', 'surrogate'],
    ['nests deeper than a hundred levels', `{"agent":"a","input":${'['.repeat(100)}1${']'.repeat(100)}}`, '100 levels'],
  ])('is rejected with its location if it %s', async (_, body, expected) => {
    const { callApi } = apiScene();
    const refused = await callApi('/api/runs', { body, headers: JSON_TYPE });
    expect([refused.status, refused.headers.get('content-type')]).toEqual([400, 'application/problem+json']);
    expect(refused.json.detail).toContain(expected);
    expect((await callApi('/api/runs')).json.runs).toEqual([]);
  });

  it('can nest a hundred levels, not counting brackets in strings', async () => {
    const { callApi } = apiScene();
    const deep = `{"agent":"a","input":${'['.repeat(99)}"[[\\"[["${']'.repeat(99)}}`;
    expect((await callApi('/api/runs', { body: deep, headers: JSON_TYPE })).status).toBe(201);
    const flat = JSON.stringify({ agent: 'a', input: '['.repeat(5000) });
    expect((await callApi('/api/runs', { body: flat, headers: JSON_TYPE })).status).toBe(201);
  });

  it('is rejected before it is read if it is too large, whatever its content-length claims', async () => {
    const { app, callApi } = apiScene();
    const large = await callApi('/api/runs', { json: { agent: 'a', input: 'x'.repeat(1024 * 1024) } });
    expect([large.status, large.json.code]).toEqual([413, 'TOO_LARGE']);
    const announced = await callApi('/api/runs', {
      body: '{}',
      headers: { ...JSON_TYPE, 'content-length': '99999999' },
    });
    expect(announced.status).toBe(413);
    let pulled = 0;
    const endless = new ReadableStream({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(64 * 1024).fill(0x20));
      },
    });
    const request = new Request('http://x.test/api/runs', {
      method: 'POST',
      body: endless,
      duplex: 'half',
      headers: JSON_TYPE,
    } as RequestInit);
    expect((await app.fetch(request)).status).toBe(413);
    expect(pulled).toBeLessThan(30);
  });

  it('must be JSON in UTF-8', async () => {
    const { callApi } = apiScene();
    for (const type of [
      'text/plain',
      'application/xml',
      'application/x-www-form-urlencoded',
      'application/jsonp',
      'x'.repeat(5000),
      '',
    ]) {
      const refused = await callApi('/api/runs', { body: '{"agent":"a"}', headers: { 'content-type': type } });
      expect([type, refused.status, refused.json.code]).toEqual([type, 415, 'UNSUPPORTED_TYPE']);
      expect(refused.text.length).toBeLessThan(500);
    }
    expect(
      (
        await callApi('/api/runs', {
          body: '{"agent":"a"}',
          headers: { 'content-type': 'Application/JSON; charset=UTF-8' },
        })
      ).status,
    ).toBe(201);
    const broken = await callApi('/api/runs', { body: Uint8Array.from([0x22, 0xff, 0xfe, 0x22]), headers: JSON_TYPE });
    expect([broken.status, broken.json.detail]).toEqual([400, expect.stringContaining('UTF-8')]);
  });
});

describe('a query string', () => {
  it.each([
    'limit=0',
    'limit=101',
    'limit=1.5',
    'limit=1e1',
    'limit=x',
    'limit=',
    'limit=1&limit=2',
    'status=DONE',
    'status=',
    'status=ready',
    'cursor=',
    'cursor=x',
    'cursor=%00',
    `cursor=${'a'.repeat(8001)}`,
    'since=yesterday',
    'since=2026-13-01T00:00:00Z',
    'since=2026-01-01',
    'until=2026-01-01T00:00:00',
    'agent=',
    `agent=${'x'.repeat(257)}`,
    'agent=a&agent=b',
    'step=a&stepNumber=1',
    'owner=%ED%A0%80'.repeat(1) + 'x'.repeat(300),
    'tenant=other',
    '__proto__=1',
    'constructor=1',
    `${Array.from({ length: 30 }, () => 'status=READY').join('&')}`,
  ])('is rejected if it is $0', async (query) => {
    const { callApi } = apiScene();
    const refused = await callApi(`/api/runs?${query}`);
    expect([query, refused.status, refused.json.code]).toEqual([query, 400, 'INVALID_INPUT']);
    expect(refused.text.length).toBeLessThan(5000);
  });

  it('is rejected if it makes the URL too long', async () => {
    const refused = await apiScene().callApi(`/api/runs?agent=${'x'.repeat(10_000)}`);
    expect([refused.status, refused.json.code]).toEqual([414, 'TOO_LARGE']);
  });
});

describe('a request path', () => {
  it.each(['%', '%zz', '%ff', '~', '~a~2', '~~FF', `x${'%C3%BC'.repeat(200)}`, 'x'.repeat(800)])(
    'is rejected if its run id is $0',
    async (id) => {
      const refused = await apiScene().callApi(`/api/runs/${id}`);
      expect([refused.status, refused.json.code]).toEqual([400, 'INVALID_INPUT']);
    },
  );

  it('returns 404 without a route, and 405 for a method that the route does not have', async () => {
    const { callApi } = apiScene();
    for (const path of [
      '/nothing',
      '/api/nothing',
      '/api/runs/',
      '/api/runs/a/nothing',
      '/api/runs//checkpoints',
      '/.env',
      '/api/../../etc/passwd',
      '/favicon.ico',
    ])
      expect([path, (await callApi(path)).json.code]).toEqual([path, 'ROUTE_NOT_FOUND']);
    for (const [method, path, allow] of [
      ['PUT', '/api/runs', 'GET, HEAD, POST'],
      ['DELETE', '/api/runs/x', 'GET, HEAD'],
      ['GET', '/api/runs/x/cancel', 'POST'],
      ['PATCH', '/api/runs/x/checkpoints', 'GET, HEAD, POST'],
      ['TRACE_IT', '/api/me', 'GET, HEAD'],
    ] as const) {
      const refused = await callApi(path, { method });
      expect([path, refused.status, refused.headers.get('allow')?.split(', ').sort().join(', ')]).toEqual([
        path,
        405,
        allow,
      ]);
    }
  });
});

describe('every response', () => {
  it('forbids caching, sniffing, framing and referrers', async () => {
    const { callApi, app } = apiScene();
    const paths = ['/api/me', '/api/runs', '/api/nothing', '/approvals/x', '/nothing', '/', '/console/nothing'];
    for (const path of paths)
      for (const accept of ['*/*', 'text/html']) {
        const { headers } = await callApi(path, { headers: { accept } });
        expect(Object.fromEntries(headers)).toMatchObject({
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          'cross-origin-opener-policy': 'same-origin',
          'content-security-policy': expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
          'referrer-policy': path.startsWith('/approvals') ? 'no-referrer' : 'same-origin',
        });
        expect(headers.has('strict-transport-security')).toBe(false);
        expect(headers.has('access-control-allow-origin')).toBe(false);
      }
    const https = await app.request('https://x.test/api/me');
    expect(https.headers.get('strict-transport-security')).toMatch(/max-age=\d{8}/);
  });

  it('is a page for browsers if it is an error, except from the API', async () => {
    const { callApi } = apiScene();
    const accept = { accept: 'text/html' };
    for (const path of ['/nothing', '/console/nothing', '/approvals/x'])
      expect((await callApi(path, { headers: accept })).headers.get('content-type')).toMatch(/^text\/html/);
    expect((await callApi('/api/nothing', { headers: accept })).headers.get('content-type')).toBe(
      'application/problem+json',
    );
    const page = await callApi('/%3Cscript%3Ealert(1)%3C/script%3E', { headers: accept });
    expect(page.text).not.toContain('<script>alert');
  });
});

describe('the root of the site', () => {
  it('redirects to the console', async () => {
    const { callApi } = apiScene();
    for (const path of ['/', '/console/']) expect((await callApi(path)).headers.get('location')).toBe('/console');
    expect((await callApi('/console')).status).toBeLessThan(400);
  });
});

describe('an internal error', () => {
  /** A storage whose every request fails. */
  const failing = (error: Error): Storage => {
    const fail = () => Promise.reject(error);
    const { records, payloads } = memoryStorage();
    return { records: { ...records, read: fail, range: fail, list: fail, commit: fail }, payloads };
  };

  it.each([
    [new Error('SECRET'), 500, 'UNEXPECTED'],
    [new WaitstateError('STORAGE_DENIED', 'Allow dynamodb:Query on the table "SECRET".'), 500, 'STORAGE_DENIED'],
    [new WaitstateError('STORAGE_UNAVAILABLE', 'SECRET'), 503, 'STORAGE_UNAVAILABLE'],
    [new WaitstateError('STORAGE_FULL', 'SECRET'), 507, 'STORAGE_FULL'],
    [Object.assign(new Error('SECRET'), { name: 'ThrottlingException' }), 500, 'UNEXPECTED'],
  ])('reveals no detail of %s', async (error, status, code) => {
    const { callApi, logged, counted } = apiScene(failing(error));
    for (const [path, init] of [
      ['/api/runs', {}],
      ['/api/runs/x', {}],
      ['/api/runs', { json: { agent: 'a' } }],
      ['/approvals/x', {}],
      ['/approvals/x', { json: { answer: 'approve' } }],
      ['/approvals/x', { headers: { accept: 'text/html' } }],
      [
        '/approvals/x',
        {
          body: 'answer=approve',
          headers: { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' },
        },
      ],
    ] as const) {
      const got = await callApi(path, init);
      expect([path, got.status]).toEqual([path, status]);
      expect(got.text).not.toContain('SECRET');
      if (got.headers.get('content-type') === 'application/problem+json') expect(got.json.code).toBe(code);
    }
    expect(logged).toHaveLength(7);
    for (const line of logged)
      expect(JSON.parse(line)).toMatchObject({
        level: 'error',
        status,
        route: expect.stringMatching(/^\/(api|approvals)\//),
      });
    expect(counted).toEqual(Array(7).fill('RequestFailed'));
  });

  it('has an HTTP status of at least 400, whatever its code', () => {
    for (const status of Object.values(HTTP_STATUS)) expect(status).toBeGreaterThanOrEqual(400);
  });

  it('is returned for a request that takes too long', async () => {
    const { vi } = await import('vitest');
    const never = () => new Promise<never>(() => {});
    const { records, payloads } = memoryStorage();
    const { callApi } = apiScene({ records: { ...records, list: never }, payloads });
    vi.useFakeTimers();
    try {
      const pending = callApi('/api/runs');
      await vi.advanceTimersByTimeAsync(25_000);
      const got = await pending;
      expect([got.status, got.json.code]).toEqual([503, 'TIMED_OUT']);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is logged without the URL, which may contain a token', async () => {
    const { callApi, logged } = apiScene();
    for (const path of [
      '/approvals/SECRET-TOKEN',
      '/approvals/SECRET-TOKEN/payloads/x',
      '/approvals/SECRET-TOKEN/x/y',
      '/SECRET-TOKEN',
      '/api/runs/SECRET-TOKEN',
      '/api/SECRET-TOKEN?a=SECRET-TOKEN',
    ])
      await callApi(path);
    expect(logged).toHaveLength(6);
    expect(logged.join()).not.toContain('SECRET');
  });
});

describe('a request whose body does not arrive', () => {
  it('times out', async () => {
    const { vi } = await import('vitest');
    const { app } = apiScene();
    const silent = new ReadableStream({ pull: () => new Promise(() => {}) });
    const request = new Request('http://x.test/api/runs', {
      method: 'POST',
      body: silent,
      duplex: 'half',
      headers: JSON_TYPE,
    } as RequestInit);
    vi.useFakeTimers();
    try {
      const responding = app.fetch(request);
      await vi.advanceTimersByTimeAsync(10_000);
      expect((await responding).status).toBe(408);
    } finally {
      vi.useRealTimers();
    }
  });
});
