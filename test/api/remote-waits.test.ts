import { describe, expect, it } from 'vitest';
import { pauseAgent } from '../../lambda/runtime/control/pause-agent.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import { describeOnEachStorage } from '../runtime/storages.ts';
import { type ApiScene, apiScene, caller } from './scene.ts';

/** A run as a worker gets it. */
interface Claimed {
  readonly run: string;
  readonly checkpoint: { readonly version: number };
  readonly [field: string]: unknown;
}

/** The requests of a worker that runs the agents `parent` and `child`. */
const workerIn = (scene: ApiScene) => ({
  async claim(...agents: string[]): Promise<Claimed | undefined> {
    const json = { agents: agents.length > 0 ? agents : ['parent'], wait: { seconds: 0 } };
    const { status, json: claimed } = await scene.callApi('/api/claims', { json });
    return status === 200 ? (claimed as unknown as Claimed) : undefined;
  },
  start: (id: string, fields: object = {}) =>
    scene.callApi('/api/runs', { json: { agent: 'parent', id, input: 1, ...fields } }),
  async send(run: string, path: string, version: number, json: object) {
    const { status, json: body } = await scene.callApi(`/api/runs/${run}/${path}`, {
      json,
      headers: { 'if-match': `"${version}"` },
    });
    return { http: status, ...body } as { readonly http: number; readonly [field: string]: unknown };
  },
  async pass(seconds: number): Promise<void> {
    scene.clock.moveTo(scene.clock.now() + seconds * 1_000);
    await sweepDue({ runtime: scene.runtime, hasWorkers: () => true });
  },
  status: async (run: string) => (await scene.callApi(`/api/runs/${run}`)).json.status,
});

const childOf = (claimed: Claimed | undefined) => claimed?.run ?? '';

describeOnEachStorage('an agent in another language that waits', (open) => {
  it('asks questions with choices, text and a schema, and gets the answers', async () => {
    const scene = apiScene(await open());
    const { start, claim, send } = workerIn(scene);
    await start('q');
    const answerSchema = { type: 'object', properties: { nights: { type: 'integer' } }, required: ['nights'] };
    let version = (await claim())?.checkpoint.version ?? 0;
    for (const [name, terms, value] of [
      ['seat', { choices: ['aisle', { value: 'window', label: 'By the window' }] }, 'window'],
      ['meals', { choices: ['lunch', 'dinner'], multiple: true }, ['dinner']],
      ['note', { text: { maxLength: 20 } }, 'none'],
      ['hotel', { answerSchema }, { nights: 3 }],
    ] as const) {
      const approval = { name, title: 'Which?', approvers: ['user:ann'], ...terms };
      expect(await send('q', 'approvals', version, { approval })).toMatchObject({ http: 201, suspended: true });
      const answered = { json: { value }, as: caller({ person: 'user:ann' }) };
      expect((await scene.callApi(`/api/runs/q/approvals/${name}/decide`, answered)).status).toBe(200);
      const claimed = await claim();
      expect(claimed?.approvals).toContainEqual(expect.objectContaining({ name, answered: true, answer: value }));
      version = claimed?.checkpoint.version ?? 0;
    }
  });

  it('sleeps, and is invoked when the time has passed', async () => {
    const { start, claim, send, pass } = workerIn(apiScene(await open()));
    await start('a');
    await claim();
    const sleep = { sleep: 'cool down', duration: { minutes: 10 }, state: { n: 1 } };
    const slept = { http: 201, version: 3, status: 'SLEEPING', suspended: true };
    expect(await send('a', 'waits', 2, sleep)).toMatchObject(slept);
    expect(await send('a', 'waits', 2, sleep)).toMatchObject(slept);
    await pass(500);
    expect(await claim()).toBeUndefined();
    await pass(101);
    expect(await claim()).toMatchObject({
      sleeps: [{ name: 'cool down' }],
      waiting: [],
      checkpoint: { version: 4, state: { n: 1 }, toolResults: {} },
    });
    expect(await send('a', 'waits', 4, { sleep: 'cool down', duration: { seconds: 0 } })).toMatchObject({
      status: 'RUNNING',
      suspended: false,
    });
  });

  it('calls a child run, and gets its result or its error', async () => {
    const scene = apiScene(await open());
    const { start, claim, send, status } = workerIn(scene);
    await start('a', { owner: 'ann' });
    await claim();
    const called = await send('a', 'waits', 2, { call: { agent: 'child', name: 'price', input: { item: 'desk' } } });
    expect(called).toMatchObject({ status: 'WAITING_FOR_SIGNAL', suspended: true, child: 'a.price' });
    expect(await claim()).toBeUndefined();
    expect((await scene.callApi('/api/runs/a')).json).toMatchObject({
      children: [{ name: 'call/price', run: 'a.price', status: 'waiting' }],
      waitsFor: 'call price',
    });
    const child = await claim('child');
    expect(child).toMatchObject({ run: 'a.price', input: { item: 'desk' } });
    expect((await scene.callApi('/api/runs/a.price')).json).toMatchObject({ owner: 'ann', parent: { run: 'a' } });
    await send('a.price', 'finish', 2, { status: 'SUCCEEDED', result: { price: 7 } });
    const resumed = await claim();
    expect(resumed).toMatchObject({
      calls: [{ name: 'price', run: 'a.price', status: 'SUCCEEDED', result: { price: 7 } }],
      waiting: [],
    });
    await send('a', 'waits', 4, { call: { agent: 'child', name: 'price' } });
    const second = await claim('child');
    expect(second).toMatchObject({ run: 'a.price#2', input: null });
    await send(encodeURIComponent('a.price#2'), 'finish', 2, {
      status: 'FAILED',
      error: { name: 'SoldOut', message: 'No desk.' },
    });
    expect(await claim()).toMatchObject({
      calls: [
        { name: 'price', status: 'SUCCEEDED' },
        { name: 'price', run: 'a.price#2', status: 'FAILED', error: { name: 'SoldOut', message: 'No desk.' } },
      ],
    });
    expect(await send('a', 'finish', 6, { status: 'SUCCEEDED' })).toMatchObject({ http: 201 });
    expect(await status('a')).toBe('SUCCEEDED');
  });

  it('starts a child once, however often the request is repeated', async () => {
    const { start, claim, send } = workerIn(apiScene(await open()));
    await start('a');
    await claim();
    const request = { call: { agent: 'child' } };
    const sent = await Promise.all(Array.from({ length: 5 }, () => send('a', 'waits', 2, request)));
    expect(sent.map(({ version, child }) => [version, child])).toEqual(Array(5).fill([3, 'a.child']));
    expect(childOf(await claim('child'))).toBe('a.child');
    expect(await claim('child')).toBeUndefined();
    expect(await send('a', 'waits', 2, { call: { agent: 'child', name: 'late' } })).toMatchObject({ http: 412 });
    expect(await claim('child')).toBeUndefined();
  });

  it('cancels the children that it waits for when it is cancelled', async () => {
    const scene = apiScene(await open());
    const { start, claim, send, status } = workerIn(scene);
    await start('a');
    await claim();
    await send('a', 'waits', 2, { call: { agent: 'child' } });
    await scene.callApi('/api/runs/a/cancel', { json: {} });
    const ending = await claim();
    expect(ending).toMatchObject({ checkpoint: { status: 'ENDING' }, waiting: ['child'] });
    await send('a', 'finish', ending?.checkpoint.version ?? 0, { status: 'FAILED', error: {} });
    expect([await status('a'), await status('a.child')]).toEqual(['CANCELLED', 'CANCELLED']);
  });

  it('records events with a checkpoint, once', async () => {
    const scene = apiScene(await open());
    const { start, claim, send } = workerIn(scene);
    await start('a');
    await claim();
    const save = { step: 'think', events: [{ phase: 'thinking' }, { at: { $: ['date', 0] } }] };
    for (let i = 0; i < 3; i++) expect((await send('a', 'checkpoints', 2, save)).version).toBe(3);
    await send('a', 'finish', 3, { status: 'SUCCEEDED', events: ['done'] });
    const { events } = (await scene.callApi('/api/runs/a/events')).json as { events: { type: string }[] };
    expect(events.filter(({ type }) => type === 'event')).toMatchObject([
      { id: '2.1', version: 3, data: { phase: 'thinking' } },
      { id: '2.2', version: 3, data: { at: { $: ['date', 0] } } },
      { id: '3.1', version: 4, data: 'done' },
    ]);
  });
});

describe('a request to wait', () => {
  it('is refused unless it has exactly one wait, with the fields of that wait', async () => {
    const { start, claim, send } = workerIn(apiScene());
    await start('a');
    await claim();
    const hour = { hours: 1 };
    for (const [json, problem] of [
      [{}, /exactly one of `signal`, `sleep` and `call`; found \\"none\\"/],
      [{ signal: 'go', sleep: 'nap', duration: hour }, /found \\"signal, sleep\\"/],
      [{ sleep: 'nap' }, /`duration` must be sent with `sleep`/],
      [{ sleep: 'nap', duration: hour, timeout: hour }, /`timeout` must be sent only with `signal`/],
      [{ signal: 'go', duration: hour }, /`duration` must be sent with `sleep`/],
      [{ call: { agent: 'child', input: 1, key: 1 } }, /key/],
      [
        { sleep: 'nap', duration: hour, toolResults: { 'call/x': 1 } },
        /begin with none of @ approval\/ signal\/ sleep\/ call\//,
      ],
      [{ sleep: 'nap', duration: hour, events: ['x'.repeat(20_000)] }, /An event must be at most/],
      [{ sleep: 'nap', duration: hour, events: Array(101).fill(1) }, /./],
    ] as const) {
      const refused = await send('a', 'waits', 2, json);
      expect([refused.http, refused.code]).toEqual([400, 'INVALID_INPUT']);
      expect(JSON.stringify([refused.detail, refused.errors])).toMatch(problem);
    }
    expect(await claim('child')).toBeUndefined();
  });

  it('starts no agent that the deployment does not know, and no run of another tenant', async () => {
    const scene = apiScene(
      undefined,
      {},
      { agents: async () => [{ name: 'parent' }, { name: 'x', tenants: ['acme'] }] },
    );
    const { start, claim, send } = workerIn(scene);
    await start('a');
    await claim();
    for (const agent of ['child', 'x'])
      expect(await send('a', 'waits', 2, { call: { agent } })).toMatchObject({ http: 404, code: 'AGENT_NOT_FOUND' });
    const json = { call: { agent: 'parent' } };
    const headers = { 'if-match': '"2"' };
    const other = await scene.callApi('/api/runs/a/waits', { json, headers, as: caller({ tenant: 'acme' }) });
    expect(other.status).toBe(404);
  });

  it('keeps a call of a paused agent until the pause ends', async () => {
    const scene = apiScene();
    const { start, claim, send } = workerIn(scene);
    await start('a');
    await claim();
    await pauseAgent(await scene.runtime.contexts.forTenant(), 'child');
    expect(await send('a', 'waits', 2, { call: { agent: 'child' } })).toMatchObject({ suspended: true });
    expect(await claim('child')).toBeUndefined();
  });
});
