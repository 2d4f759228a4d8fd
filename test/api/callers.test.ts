import { describe, expect, it } from 'vitest';
import type { Route } from '../../lambda/api/route.ts';
import { ROUTES } from '../../lambda/api/routes/routes.ts';
import { type Caller, ROLES, type Role } from '../../lambda/http/caller.ts';
import { apiScene, caller } from './scene.ts';

/** A valid request to a route, apart from its caller. */
const requestTo = (route: Route) => ({
  path: route.path.replace(/\{(\w+)\}/g, (_, name) => (name === 'version' ? '1' : `some-${name}`)),
  init: {
    method: route.method,
    headers: { 'content-type': 'application/json', 'if-match': '"1"' },
    ...(route.body && { body: '{"agent":"a","name":"n","answer":"approve","reason":"w","version":1}' }),
  },
});

/** Every subset of the roles. */
const sets: readonly (readonly Role[])[] = [
  [],
  ...ROLES.map((role) => [role]),
  ['viewer', 'approver'],
  ['approver', 'operator'],
  [...ROLES],
];

const WORKER_ROUTES = [
  ...['claimRun', 'renewLease', 'releaseRun'],
  ...['saveCheckpoint', 'askApproval', 'wait', 'finishRun', 'makeUpload'],
];

const forCallers = ROUTES.filter(({ access }) => access !== 'everyone');

describe('a route for callers', () => {
  it.each(forCallers)('rejects unauthenticated callers and other roles at $method $path', async (route) => {
    const { callApi } = apiScene();
    const { path, init } = requestTo(route);
    const unknown = await callApi(path, { ...init, as: 'nobody' });
    expect([unknown.status, unknown.json.code]).toEqual([401, 'NOT_AUTHENTICATED']);
    expect(unknown.headers.get('www-authenticate')).toBe('Bearer');
    for (const roles of sets) {
      const { status, json } = await callApi(path, { ...init, as: caller({ roles }) });
      const mayDoIt = roles.some((role) => route.access.includes(role));
      // The inbox and the delegations check the role again for each of their two lists.
      const isRefused =
        json.code === 'NOT_ALLOWED' &&
        !(['listApprovals', 'listDelegations'].includes(route.name) && !roles.includes('approver'));
      if (mayDoIt) expect([roles, isRefused, status === 401]).toEqual([roles, false, false]);
      else expect([roles, status, json.code]).toEqual([roles, 403, 'NOT_ALLOWED']);
    }
  });

  it('lists its roles, and viewers cannot change anything', () => {
    for (const { access, method, name } of forCallers) {
      expect(access.length).toBeGreaterThan(0);
      const others: Readonly<Record<string, readonly Role[]>> = {
        decideApproval: ['approver'],
        decideApprovals: ['approver'],
        startRun: ['operator', 'starter'],
        delegate: ['approver'],
        endDelegation: ['approver'],
        ...Object.fromEntries(WORKER_ROUTES.map((route) => [route, ['operator', 'worker'] as const])),
      };
      if (method === 'POST') expect([name, access]).toEqual([name, others[name] ?? ['operator']]);
    }
    expect(
      ROUTES.filter(({ access }) => access === 'everyone').map(({ path }) => path.startsWith('/approvals/{token}')),
    ).toEqual([true, true, true]);
  });

  it('does not reveal its existence to unauthenticated callers', async () => {
    const { callApi } = apiScene();
    for (const path of [
      '/api',
      '/api/',
      '/api/nothing',
      '/api/runs/x/nothing',
      '/console',
      '/console/',
      '/console/nothing',
      '/console/runs',
    ])
      expect([path, (await callApi(path, { as: 'nobody' })).status]).toEqual([path, 401]);
    expect((await callApi('/api/nothing', { as: caller({ roles: [] }) })).status).toBe(403);
    expect((await callApi('/console', { as: caller({ roles: [] }) })).status).toBe(403);
  });
});

describe('a worker', () => {
  it('can claim runs and write to them as their agent does, and nothing else', async () => {
    const open = forCallers.filter(({ access }) => access.includes('worker')).map(({ name }) => name);
    expect(open.sort()).toEqual([...WORKER_ROUTES, 'describe', 'describeProtocol', 'loadRun', 'whoAmI'].sort());
    const as = caller({ roles: ['worker'], decidesForOthers: true });
    const scene = apiScene();
    await scene.callApi('/api/runs', { json: { agent: 'quotes', id: 'r' } });
    const { status, json } = await scene.callApi('/api/claims', { json: { agents: ['quotes'] }, as });
    expect([status, json.run]).toEqual([200, 'r']);
    for (const path of ['/api/runs', '/api/runs/r', '/api/approvals', '/console/runs', '/console/start'])
      expect([path, (await scene.callApi(path, { as })).status]).toEqual([path, 403]);
    expect((await scene.callApi('/api/runs/r/cancel', { json: {}, as })).status).toBe(403);
  });
});

describe('a starter', () => {
  it('can start runs and nothing else', async () => {
    const as = caller({ roles: ['starter'], person: 'user:ann', decidesForOthers: true });
    const open = forCallers.filter(({ access }) => access.includes('starter')).map(({ name }) => name);
    expect(open.sort()).toEqual(['describe', 'describeProtocol', 'startRun', 'whoAmI']);
    const scene = apiScene();
    expect((await scene.callApi('/api/runs', { json: { agent: 'trips', id: 'r' }, as })).status).toBe(201);
    await scene.settle();
    for (const path of [
      '/api/runs',
      '/api/runs/r',
      '/api/runs/r/approvals/book',
      '/api/approvals',
      '/console/runs',
      '/console/runs/r/approvals/book',
      '/console/start',
    ])
      expect([path, (await scene.callApi(path, { as })).status]).toEqual([path, 403]);
    expect((await scene.callApi('/api/me', { as })).json).toMatchObject({ roles: ['starter'] });
  });

  it('learns that a run id is taken, and nothing else about the run', async () => {
    const { callApi, settle } = apiScene();
    const start = (as: Caller, json: object) => callApi('/api/runs', { json: { id: 'r', ...json }, as });
    const starter = caller({ roles: ['starter'] });
    expect((await start(caller(), { agent: 'trips' })).status).toBe(201);
    await settle();
    expect((await start(starter, { agent: 'trips' })).json).toEqual({ run: 'r', isNew: false });
    expect((await start(caller(), { agent: 'trips' })).json).toEqual({
      run: 'r',
      isNew: false,
      status: 'WAITING_FOR_APPROVAL',
    });
    const refused = await start(starter, { agent: 'other' });
    expect([refused.status, refused.json.code]).toEqual([409, 'RUN_EXISTS']);
    expect(refused.text).not.toContain('trips');
    expect((await start(caller(), { agent: 'other' })).text).toContain('trips');
    expect((await start(starter, { id: 'new', agent: 'trips' })).json).toEqual({ run: 'new', isNew: true });
  });
});

describe('the data of another tenant', () => {
  it('is not found by any request', async () => {
    const scene = apiScene();
    const acme: Caller = caller({ tenant: 'acme' });
    await scene.callApi('/api/runs', {
      json: { agent: 'trips', id: 'r', input: { note: 'SECRET-OF-ACME' } },
      as: acme,
    });
    await scene.settle();
    expect((await scene.callApi('/api/runs/r', { as: acme })).json.status).toBe('WAITING_FOR_APPROVAL');
    for (const route of forCallers.filter(({ path }) => path.includes('{run}'))) {
      const path = route.path
        .replace('{run}', 'r')
        .replace('{version}', '1')
        .replace('{approval}', 'book')
        .replace('{payload}', 'x');
      const query = route.name === 'diffCheckpoints' ? '?before=1&after=2' : '';
      const { init } = requestTo(route);
      const body = BODIES[route.name];
      const { status, text } = await scene.callApi(`${path}${query}`, { ...init, ...(body !== undefined && { body }) });
      // A signal is kept for a future run, and an upload belongs to no run yet; both stay in the tenant of the caller.
      const expected = { signalRun: 201, makeUpload: 400, saveCheckpoint: 404 }[route.name] ?? 404;
      expect([route.name, status]).toEqual([route.name, expected]);
      expect(text).not.toContain('SECRET');
    }
    const lists = ['/api/runs', '/api/runs?owner=ann', '/api/approvals?all=true', '/api/approvals', '/api/counts'];
    for (const path of lists) expect((await scene.callApi(path)).text).not.toMatch(/SECRET|"r"|"count":1/);
    expect((await scene.callApi('/api/runs/r', { as: acme })).json).toMatchObject({ status: 'WAITING_FOR_APPROVAL' });
    expect((await scene.callApi('/api/runs/~..~2Facme~2Fr')).status).toBe(404);
    expect((await scene.callApi('/api/runs/acme%2Fr')).status).toBe(404);
  });

  it('is available through its approval links, whoever uses them', async () => {
    const scene = apiScene();
    await scene.callApi('/api/runs', { json: { agent: 'trips', id: 'r' }, as: caller({ tenant: 'acme' }) });
    await scene.settle();
    const path = `/approvals/${await scene.linkTo('r', 'book', 'user:ann', 'acme')}`;
    const { json } = await scene.callApi(path, { as: 'nobody' });
    expect(json).toMatchObject({ approval: { tenant: 'acme', run: 'r' } });
    const { show } = json.approval as { show: { shot: { $: string[] } } };
    expect((await scene.callApi(`${path}/payloads/${show.shot.$[1]}`, { as: 'nobody' })).status).toBe(200);
    expect((await scene.callApi(path, { json: { answer: 'approve' }, as: 'nobody' })).status).toBe(200);
  });
});

const BODIES: Readonly<Record<string, string>> = {
  renewLease: '{"lease":"x"}',
  releaseRun: '{"lease":"x"}',
  signalRun: '{"name":"n"}',
  cancelRun: '{}',
  retryRun: '{}',
  makeUpload: '{}',
  remindApprovers: '{}',
  rewindRun: '{"version":1}',
  forkRun: '{"version":1}',
  decideApproval: '{"answer":"approve"}',
  withdrawApproval: '{"reason":"w"}',
  saveCheckpoint: '{"state":1}',
  askApproval: '{"approval":{"name":"n","title":"t","approvers":["user:ann"]}}',
  wait: '{"signal":"s"}',
  finishRun: '{"status":"SUCCEEDED"}',
};

describe('a page of another site', () => {
  it('cannot make a browser change anything', async () => {
    const { callApi } = apiScene();
    for (const site of ['cross-site', 'same-site'])
      expect(await callApi('/api/runs', { json: { agent: 'a' }, headers: { 'sec-fetch-site': site } })).toMatchObject({
        status: 403,
        json: { code: 'NOT_ALLOWED' },
      });
    for (const site of ['same-origin', 'none'])
      expect((await callApi('/api/runs', { json: { agent: 'a' }, headers: { 'sec-fetch-site': site } })).status).toBe(
        201,
      );
    // A form cannot send JSON, and the API accepts nothing else.
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await callApi('/api/runs', { body: 'agent=a', headers: form })).status).toBe(415);
    expect(
      (await callApi('/api/runs', { method: 'OPTIONS', headers: { origin: 'https://evil.test' } })).headers.has(
        'access-control-allow-origin',
      ),
    ).toBe(false);
  });
});
