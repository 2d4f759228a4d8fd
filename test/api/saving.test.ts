import { describe, expect, it } from 'vitest';
import { describeOnEachStorage } from '../runtime/storages.ts';
import { type ApiRequest, type ApiScene, apiScene } from './scene.ts';

const saver =
  ({ callApi }: ApiScene, run = 'q-1') =>
  (
    version: number | undefined,
    json: object = {},
    { path = 'checkpoints', ...more }: ApiRequest & { path?: string } = {},
  ) =>
    callApi(`/api/runs/${run}/${path}`, {
      json,
      ...more,
      headers: { ...(version !== undefined && { 'if-match': `"${version}"` }), ...more.headers },
    });

describeOnEachStorage('an agent in another language, over HTTP', (open) => {
  it('saves on top of its version, and loads what it saved', async () => {
    const scene = apiScene(await open());
    const save = saver(scene);
    const first = await save(0, { agent: 'quotes', state: { at: 1 }, owner: 'ann', tags: ['t'] });
    expect([first.status, first.headers.get('etag'), first.json]).toEqual([
      201,
      '"1"',
      { run: 'q-1', version: 1, status: 'RUNNING' },
    ]);
    const second = await save(1, {
      state: { at: 2, when: { $: ['date', 0] } },
      step: 'two',
      toolResults: { call: [1] },
    });
    expect([second.status, second.headers.get('etag')]).toEqual([201, '"2"']);
    const loaded = await scene.callApi('/api/runs/q-1/load');
    expect(loaded.headers.get('etag')).toBe('"2"');
    expect(loaded.json).toMatchObject({
      run: 'q-1',
      checkpoint: { version: 2, state: { at: 2, when: { $: ['date', 0] } }, toolResults: { call: [1] }, step: 'two' },
    });
    expect((await scene.callApi('/api/runs/q-1/load?version=1')).json).toMatchObject({
      checkpoint: { state: { at: 1 } },
    });
  });

  it('gets the current version after a conflict', async () => {
    const scene = apiScene(await open());
    const save = saver(scene);
    await save(0, { state: 1 });
    await save(1, { state: 2 });
    for (const version of [1, 0, 7]) {
      const lost = await save(version, { state: 'lost' });
      expect([version, lost.status, lost.json.code, lost.headers.get('etag')]).toEqual([
        version,
        412,
        'STALE_VERSION',
        '"2"',
      ]);
      expect(lost.json.found).toEqual({ version: 2, status: 'RUNNING' });
    }
    const nothing = await saver(scene, 'none')(3, { state: 1 });
    expect([nothing.status, nothing.json.code]).toEqual([404, 'RUN_NOT_FOUND']);
    expect((await scene.callApi('/api/runs/q-1/checkpoints/latest?path=/state')).json).toMatchObject({
      version: 2,
      content: 2,
    });
  });

  it('saves one checkpoint for a repeated request', async () => {
    const scene = apiScene(await open());
    const save = saver(scene);
    await save(0, { state: 1 });
    const again = await Promise.all(Array.from({ length: 10 }, () => save(1, { state: 2 })));
    expect(again.map(({ status, json }) => [status, json.version])).toEqual(Array(10).fill([201, 2]));
    const key = { headers: { 'idempotency-key': 'mine' } };
    expect((await save(2, { state: 'a' }, key)).json.version).toBe(3);
    expect((await save(2, { state: 'a' }, key)).json.version).toBe(3);
    const other = await save(2, { state: 'b' }, key);
    expect([other.status, other.json.code]).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
    expect((await save(2, { state: 'b' }, { headers: { 'idempotency-key': 'yours' } })).status).toBe(412);
    const writers = await Promise.all(Array.from({ length: 10 }, (_, i) => save(3, { state: i })));
    expect(writers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(412)]);
  });

  it('creates a run only if it does not exist', async () => {
    const scene = apiScene(await open());
    const create = (state: number) => saver(scene)(undefined, { state }, { headers: { 'if-none-match': '*' } });
    expect([(await create(1)).status, (await create(2)).status]).toEqual([201, 412]);
  });

  it('requests an approval, waits and finishes', async () => {
    const scene = apiScene(await open());
    const started = await scene.callApi('/api/runs', { json: { agent: 'quotes', id: 'q-1' } });
    expect(started.status).toBe(201);
    const save = saver(scene);
    await save(1, { state: 0 });
    const early = await save(
      2,
      { approval: { name: 'buy', title: 'Buy?', approvers: ['user:ann'] } },
      { path: 'approvals' },
    );
    expect([early.status, early.json.code]).toEqual([409, 'TRANSITION_REFUSED']);
    const plain = saver(scene, 'own');
    await plain(0, { agent: 'quotes', state: 1 });
    const requested = await plain(
      1,
      { approval: { name: 'buy', title: 'Buy?', approvers: ['user:ann'], show: { price: 3 } } },
      { path: 'approvals' },
    );
    expect([requested.status, requested.json]).toEqual([
      201,
      { run: 'own', version: 2, status: 'WAITING_FOR_APPROVAL', suspended: true, approval: 'buy' },
    ]);
    const decided = await scene.callApi('/api/runs/own/approvals/buy/decide', { json: { answer: 'approve' } });
    expect(decided.json.status).toBe('APPROVED');
    expect((await scene.callApi('/api/runs/own')).json.status).toBe('READY');
    const waits = saver(scene, 'waits');
    await waits(0, { agent: 'quotes', state: 1 });
    expect((await waits(1, { signal: 'go', timeout: { hours: 1 } }, { path: 'waits' })).json).toMatchObject({
      status: 'WAITING_FOR_SIGNAL',
      suspended: true,
    });
    const ends = saver(scene, 'ends');
    await ends(0, { agent: 'quotes', state: 1 });
    expect((await ends(1, { status: 'SUCCEEDED', result: { done: true } }, { path: 'finish' })).json).toMatchObject({
      version: 2,
      status: 'SUCCEEDED',
    });
    expect((await scene.callApi('/api/runs/ends')).json.result).toEqual({ done: true });
  });
});

describe('saving over HTTP', () => {
  it('requires the version that the new checkpoint follows', async () => {
    const scene = apiScene();
    const save = saver(scene);
    const none = await save(undefined, { state: 1 });
    expect([none.status, none.json.code]).toEqual([428, 'PRECONDITION_REQUIRED']);
    for (const headers of [
      { 'if-match': '14' },
      { 'if-match': 'W/"1"' },
      { 'if-match': '*' },
      { 'if-match': '"1", "2"' },
      { 'if-match': '"-1"' },
      { 'if-match': '"9999999999999999"' },
      { 'if-match': '"1"', 'if-none-match': '*' },
      { 'if-none-match': '"1"' },
      { 'if-match': '"1"', 'idempotency-key': 'x'.repeat(201) },
    ]) {
      const refused = await save(undefined, { state: 1 }, { headers: headers as Record<string, string> });
      expect([headers, refused.status, refused.json.code]).toEqual([headers, 400, 'INVALID_INPUT']);
    }
  });

  it('rejects what the protocol rejects, and names the field', async () => {
    const scene = apiScene();
    const save = saver(scene);
    for (const [json, named] of [
      [{ stat: 1 }, 'stat'],
      [{ state: 1, stateFrom: { upload: 'upload-0123456789abcdef' } }, 'stateFrom'],
      [{ toolResults: { '@input': 1 } }, 'toolResults'],
      [{ state: { $: ['truncated', 'list', 1, []] } }, 'truncated'],
      [{ status: 'SUCCEEDED' }, 'status'],
      [{ expectedVersion: 0, state: 1 }, 'expectedVersion'],
      [{ tenant: 'other', state: 1 }, 'tenant'],
      [{ labels: { a: 1 } }, 'labels'],
    ] as const) {
      const refused = await save(0, json);
      expect([named, refused.status]).toEqual([named, 400]);
      expect(refused.json.detail).toContain(named);
    }
    expect((await scene.callApi('/api/runs/q-1')).status).toBe(404);
    await save(0, { state: 1 });
    const asks = await save(1, { approval: { name: 'buy', title: 'Buy?', approvers: ['ann'] } }, { path: 'approvals' });
    expect([asks.status, asks.json.detail]).toEqual([400, expect.stringMatching(/approvers.*user:ann/s)]);
    const foreign = await save(1, { state: { $: ['payload', 'x', 'y', 1] } });
    expect([foreign.status, foreign.json.detail]).toEqual([
      400,
      expect.stringContaining('references a payload that run'),
    ]);
  });

  it('keeps instances of classes that the API does not know', async () => {
    const scene = apiScene();
    const state = { $: ['class', 'money', { cents: 7 }] };
    expect((await saver(scene)(0, { state })).status).toBe(201);
    expect((await scene.callApi('/api/runs/q-1/checkpoints/1?path=/state')).json.content).toEqual(state);
  });

  it('creates uploads with a bucket, and fails with a clear message without one', async () => {
    const signedUrls = {
      get: async () => 'https://get.test',
      put: async (_: string, id: string) => `https://put.test/${id}`,
    };
    const made = await apiScene(undefined, {}, { signedUrls }).callApi('/api/runs/q-1/uploads', { method: 'POST' });
    expect(made).toMatchObject({
      status: 201,
      json: { url: `https://put.test/${made.json.upload}`, expiresIn: { seconds: 900 } },
    });
    expect((await apiScene().callApi('/api/runs/q-1/uploads', { method: 'POST' })).status).toBe(400);
  });

  it('delivers a run that becomes ready', async () => {
    const scene = apiScene();
    const save = saver(scene, 'r');
    await save(0, { agent: 'trips', state: { budget: 0, note: '', seen: [] } });
    expect((await save(1, { status: 'READY' })).json.status).toBe('READY');
    await scene.settle();
    expect((await scene.callApi('/api/runs/r')).json.status).not.toBe('READY');
  });
});
