import { describe, expect, it } from 'vitest';
import { encodePathId } from '../../lambda/http/path-id.ts';
import { startRun } from '../../lambda/runtime/control/start-run.ts';
import { describeOnEachStorage } from '../runtime/storages.ts';
import { apiScene, caller } from './scene.ts';

describeOnEachStorage('runs over HTTP', (open) => {
  it('start, wait, are approved, receive a signal and end', async () => {
    const { callApi, settle } = apiScene(await open());
    const started = await callApi('/api/runs', {
      json: {
        agent: 'trips',
        input: { budget: 7 },
        id: 'trip-1',
        owner: 'ann',
        tags: ['beta'],
        timeout: { days: 9 },
        retention: { hours: 60 },
      },
    });
    expect([started.status, started.json]).toEqual([201, { run: 'trip-1', status: 'READY', isNew: true }]);
    expect(started.headers.get('location')).toBe('/api/runs/trip-1');
    await settle();
    const waiting = await callApi('/api/runs/trip-1');
    expect(waiting.json).toMatchObject({
      status: 'WAITING_FOR_APPROVAL',
      agent: 'trips',
      owner: 'ann',
      tags: ['beta'],
      retention: { days: 2, hours: 12 },
      input: { budget: 7 },
      pendingApprovals: ['book'],
      waits: [{ kind: 'approval', name: 'book' }],
      isDurable: true,
    });
    expect(waiting.headers.get('etag')).toBe(`"${waiting.json.version}"`);
    const decided = await callApi('/api/runs/trip-1/approvals/book/decide', {
      json: { answer: 'approve', edits: { row: 4 } },
    });
    expect(decided.json).toMatchObject({ status: 'APPROVED', votes: [{ by: 'user:ann', edits: { row: 4 } }] });
    await settle();
    const signal = { json: { name: 'seat', value: '4A', id: 'click' } };
    expect(await callApi('/api/runs/trip-1/signals', signal)).toMatchObject({ status: 201, json: { isNew: true } });
    expect(await callApi('/api/runs/trip-1/signals', signal)).toMatchObject({ status: 200, json: { isNew: false } });
    await settle();
    expect((await callApi('/api/runs/trip-1')).json).toMatchObject({
      status: 'SUCCEEDED',
      result: { booked: true, seat: '4A', edits: { row: 4 } },
    });
    const late = await callApi('/api/runs/trip-1/signals', { json: { name: 'seat' } });
    expect([late.status, late.json.code]).toEqual([409, 'RUN_ENDED']);
  });

  it('start once for each id and for each idempotency key', async () => {
    const { callApi } = apiScene(await open());
    const start = (json: object, headers = {}) => callApi('/api/runs', { json: { agent: 'trips', ...json }, headers });
    const key = { 'idempotency-key': 'order 7' };
    const [first, again] = [await start({}, key), await start({}, key)];
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.json).toMatchObject({ run: first.json.run, isNew: false });
    expect((await start({}, { 'idempotency-key': 'order 8' })).json.run).not.toBe(first.json.run);
    expect([(await start({ id: 'x' })).status, (await start({ id: 'x' })).status]).toEqual([201, 200]);
    const other = await start({ id: 'x', agent: 'others' });
    expect([other.status, other.json.code]).toEqual([409, 'RUN_EXISTS']);
  });

  it('are not started by another request with a used idempotency key', async () => {
    const scene = apiScene(await open());
    const headers = { 'idempotency-key': 'order 7' };
    const start = (json: object, as = caller()) =>
      scene.callApi('/api/runs', { json: { agent: 'trips', ...json }, headers, as });
    const body = { input: { a: 1, b: { c: [1, 2], d: null } }, owner: 'ann', tags: ['x'], timeout: { hours: 1 } };
    const first = await start(body);
    expect(first.status).toBe(201);
    const reordered = { timeout: { hours: 1 }, tags: ['x'], owner: 'ann', input: { b: { d: null, c: [1, 2] }, a: 1 } };
    expect(await start(reordered)).toMatchObject({ status: 200, json: { run: first.json.run, isNew: false } });
    for (const [other, as] of [
      [{ ...body, input: { a: 1, b: { c: [2, 1], d: null } } }],
      [{ ...body, input: undefined }],
      [{ ...body, tags: [] }],
      [{ ...body, agent: 'others' }],
      [{ ...body, timeout: { hours: 2 } }],
      [{ ...body, owner: undefined }],
      [body, caller({ person: 'user:bob' })],
      [body, caller({ person: 'user:eve', roles: ['starter'] })],
    ] as const) {
      const refused = await start(other, as);
      expect([refused.status, refused.json.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
      expect(refused.text).not.toContain(String(first.json.run));
    }
    await scene.settle();
    expect(await start(body)).toMatchObject({ status: 200, json: { isNew: false } });
    expect((await start(body, caller({ tenant: 'acme' }))).status).toBe(201);
    expect((await scene.callApi('/api/runs')).json.runs).toHaveLength(1);
  });

  it('are started once if other requests use the same idempotency key at the same time', async () => {
    const { callApi } = apiScene(await open());
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        callApi('/api/runs', { json: { agent: 'trips', input: i % 4 }, headers: { 'idempotency-key': 'k' } }),
      ),
    );
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(4).fill(200), 201, ...Array(15).fill(422)]);
  });

  it('keep their id, with or without an idempotency key', async () => {
    const { callApi } = apiScene(await open());
    const start = (json: object, key?: string) =>
      callApi('/api/runs', {
        json: { agent: 'trips', id: 'x', ...json },
        headers: key === undefined ? {} : { 'idempotency-key': key },
      });
    expect((await start({ input: 1 }, 'k')).status).toBe(201);
    expect((await start({ input: 1 }, 'k')).status).toBe(200);
    expect((await start({ input: 2 }, 'k')).status).toBe(422);
    expect((await start({ input: 2 })).status).toBe(200);
    expect((await start({ input: 2 }, 'other')).status).toBe(200);
  });

  it('start once for concurrent requests', async () => {
    const { callApi } = apiScene(await open());
    const requests = Array.from({ length: 20 }, () =>
      callApi('/api/runs', { json: { agent: 'trips' }, headers: { 'idempotency-key': 'k' } }),
    );
    const responses = await Promise.all(requests);
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    expect(new Set(responses.map(({ json }) => json.run)).size).toBe(1);
  });

  it('are listed once each, with filters and in pages', async () => {
    const { callApi, clock, settle } = apiScene(await open());
    for (let i = 0; i < 7; i++) {
      clock.moveTo(clock.now() + 1000);
      await callApi('/api/runs', {
        json: { agent: i < 5 ? 'trips' : 'others', id: `r-${i}`, owner: `o${i % 2}`, tags: [`t${i % 3}`] },
      });
    }
    await settle();
    const ids = async (query: string) => {
      const found: string[] = [];
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const page = await callApi(`/api/runs?limit=2&${query}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
        expect(page.status).toBe(200);
        const runs = page.json.runs as { run: string }[];
        expect(runs.length).toBeLessThanOrEqual(2);
        found.push(...runs.map(({ run }) => run));
        cursor = page.json.cursor as string | undefined;
      }
      return found;
    };
    expect((await ids('')).sort()).toEqual(['r-0', 'r-1', 'r-2', 'r-3', 'r-4', 'r-5', 'r-6']);
    expect(await ids('status=READY')).toEqual(['r-6', 'r-5']);
    expect((await ids('status=READY&status=WAITING_FOR_APPROVAL')).length).toBe(7);
    expect((await ids('agent=trips&owner=o1')).sort()).toEqual(['r-1', 'r-3']);
    expect((await ids('tag=t0')).sort()).toEqual(['r-0', 'r-3', 'r-6']);
    expect(await ids('id=r-4')).toEqual(['r-4']);
    expect((await ids('step=book')).length).toBe(5);
    expect(await ids(`until=2026-05-01T10:00:06.500Z&status=READY`)).toEqual(['r-5']);
    expect(await ids(`since=2026-05-01T12:00:06.500%2B02:00&status=READY`)).toEqual(['r-6']);
    expect(await ids('since=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59Z&status=READY')).toEqual(['r-6', 'r-5']);
    const counts = await callApi('/api/counts');
    expect(counts.json).toMatchObject({ READY: { count: 2, hasMore: false }, WAITING_FOR_APPROVAL: { count: 5 } });
  });

  it('list the steps that run again after a rewind or fork, before it', async () => {
    const { callApi, settle } = apiScene(await open());
    await callApi('/api/runs', { json: { agent: 'trips', input: { budget: 7 }, id: 'a' } });
    await settle();
    const preview = await callApi('/api/runs/a/restart?version=1&action=fork');
    const json = { version: 1, steps: [], hasMore: false, stateChanges: 'everything', replaceableResults: [] };
    expect(preview).toMatchObject({ status: 200, json });
    expect((await callApi('/api/runs/a/restart?version=99')).status).toBe(404);
    expect((await callApi('/api/runs/a/restart?version=1&name=x')).status).toBe(400);
    expect((await callApi('/api/runs/a/restart', { as: caller({ roles: ['viewer'] }) })).status).toBe(403);
  });

  it('are cancelled, retried, rewound and forked', async () => {
    const { callApi, settle } = apiScene(await open());
    const status = async (run: string) => (await callApi(`/api/runs/${run}`)).json.status;
    await callApi('/api/runs', { json: { agent: 'trips', id: 'a', input: { budget: 1 } } });
    await callApi('/api/runs', { json: { agent: 'trips', id: 'b', input: { fails: true } } });
    await settle();
    expect(await status('b')).toBe('FAILED');
    const early = await callApi('/api/runs/a/retry', { method: 'POST' });
    expect([early.status, early.json.code]).toEqual([409, 'TRANSITION_REFUSED']);
    expect((await callApi('/api/runs/b/retry', { method: 'POST' })).status).toBe(204);
    expect(await status('b')).toBe('READY');

    const { version } = (await callApi('/api/runs/a')).json;
    const rewound = await callApi('/api/runs/a/rewind', { json: { version: 2, newKeys: true } });
    expect([rewound.status, rewound.headers.get('etag'), rewound.json]).toEqual([
      200,
      `"${Number(version) + 1}"`,
      { run: 'a', version: Number(version) + 1, status: 'READY' },
    ]);
    await settle();
    expect(await status('a')).toBe('WAITING_FOR_APPROVAL');
    const approvals = (await callApi('/api/runs/a/approvals')).json.approvals as { id: string; status: string }[];
    expect(approvals.map(({ status: each }) => each)).toEqual(['WITHDRAWN', 'PENDING']);
    for (const json of [{}, { version: 1, name: 'x' }])
      expect((await callApi('/api/runs/a/rewind', { json })).status).toBe(400);

    const state = { budget: 99, note: 'edited', seen: [] };
    const forked = await callApi('/api/runs/a/fork', { json: { version, id: 'a/fork', state, owner: 'bob' } });
    expect([forked.status, forked.json.run, forked.headers.get('location')]).toEqual([
      201,
      'a/fork',
      '/api/runs/~a~2Ffork',
    ]);
    expect((await callApi('/api/runs/a%2Ffork')).json).toMatchObject({ owner: 'bob', parent: { run: 'a', version } });
    const fork = await callApi('/api/runs/~a~2Ffork/checkpoints/1?path=/state');
    expect(fork.json.content).toEqual(state);
    expect((await callApi('/api/runs/a/fork', { json: { id: 'a/fork' } })).json.code).toBe('RUN_EXISTS');
    expect((await callApi('/api/runs/a/fork', { json: { version: 999 } })).json.code).toBe('CHECKPOINT_NOT_FOUND');
    expect((await callApi('/api/runs/a/lineage')).json).toEqual({
      root: {
        run: 'a',
        status: 'WAITING_FOR_APPROVAL',
        forks: [{ run: 'a/fork', status: 'READY', fromVersion: version, forks: [] }],
      },
      hasMore: false,
    });

    expect((await callApi('/api/runs/a/cancel', { json: { reason: 'No more.' } })).json.status).toBe('CANCELLED');
    expect(await status('a')).toBe('CANCELLED');
  });

  it('can have any id, in any encoding of the path', async () => {
    const { callApi } = apiScene(await open());
    for (const id of [
      'a/b',
      '..',
      '.',
      'ü €',
      '%2F',
      '%',
      'a?b#c&d',
      '~',
      '~~2F',
      '"><script>',
      'new\nline',
      'counts',
      '__proto__',
    ]) {
      const started = await callApi('/api/runs', { json: { agent: 'x', id } });
      expect([id, started.status]).toEqual([id, 201]);
      const location = started.headers.get('location') ?? '';
      expect((await callApi(location)).json.run).toBe(id);
      const plain = encodeURIComponent(id);
      if (!/^\.+$|^~/.test(id))
        expect((await callApi(`/api/runs/${plain}/checkpoints`)).json.checkpoints).toHaveLength(1);
      expect((await callApi(`/api/runs/${encodePathId(id)}/cancel`, { method: 'POST' })).json.run).toBe(id);
    }
  });
});

describe('a missing run', () => {
  it('returns 404 with the same message for every request', async () => {
    const { callApi } = apiScene();
    for (const path of [
      '',
      '/checkpoints',
      '/checkpoints/1',
      '/lineage',
      '/approvals',
      '/load',
      '/diff?before=1&after=2',
    ]) {
      const { status, json } = await callApi(`/api/runs/gone${path}`);
      expect([path, status, json.code]).toEqual([path, 404, 'RUN_NOT_FOUND']);
    }
    for (const action of ['cancel', 'retry', 'fork']) {
      const { status, json } = await callApi(`/api/runs/gone/${action}`, { json: {} });
      expect([action, status, json.code]).toEqual([action, 404, 'RUN_NOT_FOUND']);
    }
  });

  it('returns 410 after it was deleted', async () => {
    const { callApi, trips } = apiScene();
    await callApi('/api/runs', { json: { agent: 'others', id: 'x' } });
    await callApi('/api/runs/x/cancel', { method: 'POST' });
    await trips.store.delete('x');
    expect(await callApi('/api/runs/x')).toMatchObject({ status: 410, json: { code: 'RUN_DELETED' } });
  });
});

describe('an unknown agent', () => {
  it('is rejected if the agents are known, and accepted otherwise', async () => {
    const known = apiScene(undefined, {}, { agents: async () => [{ name: 'trips', example: { budget: 1 } }] });
    const refused = await known.callApi('/api/runs', { json: { agent: 'tripz' } });
    expect([refused.status, refused.json.code]).toEqual([404, 'AGENT_NOT_FOUND']);
    expect(refused.json.detail).toContain('trips');
    expect((await known.callApi('/api/agents')).json).toEqual({ agents: [{ name: 'trips', example: { budget: 1 } }] });
    expect((await apiScene().callApi('/api/runs', { json: { agent: 'tripz' } })).status).toBe(201);
  });

  it('is the reason why a run waits, unless any agent may run here', async () => {
    for (const startsAny of [false, true]) {
      const agents = async () => [{ name: 'trips' }];
      const { callApi, trips } = apiScene(undefined, {}, { agents, startsAnyAgent: () => startsAny });
      await startRun(trips.runtime, { agent: 'quotes', input: null, id: 'x' });
      const { ready } = (await callApi('/api/runs/x')).json;
      expect((ready as { reason: string }).reason).toBe(startsAny ? 'queued' : 'unknown agent');
      expect((await callApi('/api/agents')).json.startsAnyAgent).toBe(startsAny || undefined);
    }
  });
});

describe('GET /api/me', () => {
  it('returns the caller', async () => {
    const { callApi } = apiScene();
    const as = caller({ tenant: 'acme', groups: ['group:desk'], roles: ['viewer'] });
    expect((await callApi('/api/me', { as })).json).toEqual({
      tenant: 'acme',
      person: 'user:ann',
      groups: ['group:desk'],
      roles: ['viewer'],
      decidesForOthers: false,
      startsForOthers: false,
    });
  });
});
