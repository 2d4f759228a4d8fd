import { describe, expect, it } from 'vitest';
import { readLiveHead } from '../../lambda/checkpoints/read-head.ts';
import { readAgents } from '../../lambda/handlers/agents.ts';
import { caller } from '../api/scene.ts';
import { type HandlerScene, handlerScene, httpEvent } from './scene.ts';

const AGENTS = { quotes: { worker: true, notify: 'mailer-fn' }, orders: { worker: true } } as const;

const workerScene = (options: Parameters<typeof handlerScene>[0] = {}) =>
  handlerScene({ agents: AGENTS, identify: () => caller({ roles: ['worker', 'operator', 'approver'] }), ...options });

async function call(scene: HandlerScene, path: string, body: object, version?: number) {
  const headers = { 'content-type': 'application/json', ...(version !== undefined && { 'if-match': `"${version}"` }) };
  const response = await scene.api(httpEvent('POST', path, { headers, body: JSON.stringify(body) }));
  return { http: response.statusCode, ...(response.body === '' ? {} : JSON.parse(response.body)) };
}

const claim = (scene: HandlerScene, agent = 'quotes') =>
  call(scene, '/api/claims', { agents: [agent], wait: { seconds: 0 } });

const head = async ({ contexts }: HandlerScene, run: string) => (await readLiveHead(await contexts.forRun(run))).meta;

const approval = { name: 'buy', title: 'Buy?', approvers: ['user:ann'] };

describe('an agent with workers, on AWS', () => {
  it('gets its runs through the API, while the stream delivers nothing', async () => {
    const scene = await workerScene();
    expect(await call(scene, '/api/runs', { agent: 'quotes', id: 'q', input: 7 })).toMatchObject({ http: 201 });
    expect(await scene.flow()).toEqual([]);
    expect([scene.sent.invocations, scene.logged]).toEqual([[], []]);
    expect(await claim(scene, 'orders')).toEqual({ http: 204 });
    expect(await claim(scene)).toMatchObject({ http: 200, run: 'q', input: 7, checkpoint: { version: 2 } });
    expect(await call(scene, '/api/runs/q/finish', { status: 'SUCCEEDED' }, 2)).toMatchObject({ http: 201 });
    expect(await scene.flow()).toEqual([]);
    expect(scene.sent.events.map(({ type }) => type)).toEqual(['Run Succeeded']);
    expect(Object.fromEntries(scene.counts)).toEqual({ Delivered: 1, RunSucceeded: 1 });
  });

  it('gets a run again after its worker crashed, by the sweeper', async () => {
    const scene = await workerScene();
    await call(scene, '/api/runs', { agent: 'quotes', id: 'q' });
    await claim(scene);
    expect(await scene.sweep()).toMatchObject({ delivered: 0, failed: 0 });
    scene.clock.moveTo(scene.clock.now() + 61_000);
    expect(await scene.sweep()).toMatchObject({ delivered: 1, redelivered: 0, failed: 0 });
    expect(await scene.flow()).toEqual([]);
    expect(await head(scene, 'q')).toMatchObject({ status: 'READY', work: { claims: 1 } });
    expect(await claim(scene)).toMatchObject({ run: 'q', checkpoint: { version: 3 } });
    expect(scene.sent.invocations).toEqual([]);
  });

  it('is swept at growing intervals while no worker asks, and is then found at once', async () => {
    const scene = await workerScene();
    await call(scene, '/api/runs', { agent: 'quotes', id: 'q' });
    const pauses: number[] = [];
    for (let sweeps = 0; sweeps < 4; sweeps++) {
      const { dueAt = 0 } = (await head(scene, 'q')).work ?? {};
      pauses.push(dueAt - scene.clock.now());
      scene.clock.moveTo(dueAt);
      expect(await scene.sweep()).toMatchObject({ delivered: 1, redelivered: sweeps === 0 ? 0 : 1 });
    }
    expect(pauses).toEqual([60_000, 60_000, 120_000, 240_000]);
    expect(await claim(scene)).toMatchObject({ run: 'q' });
  });

  it('has its approvers notified by the function that it names, with links', async () => {
    const scene = await workerScene();
    for (const agent of ['quotes', 'orders']) {
      await call(scene, '/api/runs', { agent, id: agent });
      await claim(scene, agent);
      await call(scene, `/api/runs/${agent}/approvals`, { approval }, 2);
    }
    expect(await scene.flow()).toEqual([]);
    expect(scene.sent.invocations).toMatchObject([
      {
        name: 'mailer-fn',
        event: {
          waitstate: 1,
          run: 'quotes',
          notify: {
            title: 'Buy?',
            links: [{ person: 'user:ann', url: expect.stringContaining('https://approve.test') }],
          },
        },
      },
    ]);
    expect(scene.sent.events.map(({ type }) => type)).toEqual(['Approval Requested', 'Approval Requested']);
    expect(scene.sent.messages).toHaveLength(2);
    expect(scene.logged).toEqual([]);
  });

  it('has its approvers find the request in their inbox if nothing can notify them', async () => {
    const scene = await workerScene({ publishes: false });
    await call(scene, '/api/runs', { agent: 'orders', id: 'q' });
    await claim(scene, 'orders');
    await call(scene, '/api/runs/q/approvals', { approval }, 2);
    expect(await scene.flow()).toEqual([]);
    scene.clock.moveTo(scene.clock.now() + 3_600_000);
    expect(await scene.sweep()).toMatchObject({ failed: 0, approvals: 0 });
    expect([scene.sent.invocations, scene.logged]).toEqual([[], []]);
    const inbox = await scene.api(httpEvent('GET', '/api/approvals'));
    expect(JSON.parse(inbox.body).approvals).toMatchObject([{ id: 'buy', title: 'Buy?' }]);
  });
});

describe('the variable with the agents', () => {
  it('has agents with workers', () => {
    const text = '{"a":{"worker":true},"b":{"worker":true,"notify":"mailer","tenants":["acme"]}}';
    expect([...readAgents(text)]).toEqual([
      ['a', { worker: true }],
      ['b', { worker: true, notify: 'mailer', tenants: ['acme'] }],
    ]);
  });

  it.each([
    '{"a":{"worker":false}}',
    '{"a":{"worker":"yes"}}',
    '{"a":{"worker":true,"function":"f"}}',
    '{"a":{"worker":true,"notify":""}}',
    '{"a":{"worker":true,"tenants":[]}}',
  ])('is refused as %s', (text) => {
    expect(() => readAgents(text)).toThrow(/WAITSTATE_AGENTS must be .* found for agent "a"/);
  });
});
