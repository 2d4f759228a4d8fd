import { type Api, runPath } from './api.ts';
import { expectEqual } from './scenarios.ts';

/** A request that a server must answer in a certain way. */
export interface ServerCheck {
  readonly name: string;
  readonly run: (api: Api, agent: string, id: string) => Promise<void>;
}

const NO_WAIT = { seconds: 0 };

async function claim(api: Api, agent: string, id: string) {
  expectEqual('POST /api/runs', 201, (await api.post('/api/runs', { agent, id, input: { n: 1 } })).status);
  const { status, json } = await api.post('/api/claims', { agents: [agent], wait: { seconds: 10 } });
  expectEqual('POST /api/claims', 200, status);
  expectEqual('The claimed run', id, json.run);
  const { version } = Object(json.checkpoint) as { readonly version: number };
  return { json, version, lease: String(Object(json.lease).id) };
}

const finish = async (api: Api, id: string, version: number) =>
  expectEqual('POST finish', 201, (await api.write(id, 'finish', version, { status: 'SUCCEEDED' })).status);

/** What every server must do. */
export const SERVER_CHECKS: readonly ServerCheck[] = [
  {
    name: 'serves the OpenAPI document and the schema of the protocol',
    async run(api) {
      expectEqual('GET /api/openapi.json', '3.1.1', (await api.get('/api/openapi.json')).json.openapi);
      expectEqual('GET /api/protocol.json', 'urn:waitstate:protocol:1', (await api.get('/api/protocol.json')).json.$id);
    },
  },
  {
    name: 'hands out a run once, with everything that the protocol promises',
    async run(api, agent, id) {
      const { json, version } = await claim(api, agent, id);
      expectEqual('The second claim', 204, (await api.post('/api/claims', { agents: [agent], wait: NO_WAIT })).status);
      const { waitstate, input, approvals, signals, sleeps, calls, waiting } = json;
      expectEqual('The invocation', { waitstate: 1, input: { n: 1 } }, { waitstate, input });
      expectEqual('The waits', [[], [], [], [], []], [approvals, signals, sleeps, calls, waiting]);
      const { status, state, toolResults } = Object(json.checkpoint) as Readonly<Record<string, unknown>>;
      expectEqual(
        'The checkpoint',
        { status: 'RUNNING', state: null, toolResults: {} },
        { status, state, toolResults },
      );
      await finish(api, id, version);
    },
  },
  {
    name: 'saves a repeated request once, and refuses stale, unconditional and unknown ones',
    async run(api, agent, id) {
      const { version } = await claim(api, agent, id);
      const save = (at: number, body: object) => api.write(id, 'checkpoints', at, body);
      for (let i = 0; i < 2; i++)
        expectEqual('The saved version', version + 1, (await save(version, { state: { a: 1 } })).json.version);
      const stale = await save(version, { state: 'other' });
      expectEqual('A stale version', [412, version + 1], [stale.status, Object(stale.json.found).version]);
      const path = `${runPath(id)}/checkpoints`;
      expectEqual('No If-Match', 428, (await api.post(path, { state: 1 })).status);
      expectEqual('An unknown field', 400, (await save(version + 1, { stat: 1 })).status);
      const keyed = (state: number) =>
        api.post(path, { state }, { 'if-match': `"${version + 1}"`, 'idempotency-key': 'one' });
      expectEqual(
        'A key',
        [201, 201, 422],
        [(await keyed(1)).status, (await keyed(1)).status, (await keyed(2)).status],
      );
      await finish(api, id, version + 2);
    },
  },
  {
    name: 'renews and releases leases, and fences the worker that lost its run',
    async run(api, agent, id) {
      const { lease, version } = await claim(api, agent, id);
      const renew = async () => (await api.post(`${runPath(id)}/lease`, { lease })).status;
      expectEqual('Renewing', 200, await renew());
      expectEqual('Releasing', 200, (await api.post(`${runPath(id)}/release`, { lease })).status);
      const again = await api.post('/api/claims', { agents: [agent], wait: { seconds: 10 } });
      expectEqual('The second claim', [200, id], [again.status, again.json.run]);
      expectEqual(
        'A write of the first worker',
        412,
        (await api.write(id, 'checkpoints', version, { state: 1 })).status,
      );
      expectEqual('Renewing a lost lease', 409, await renew());
      await finish(api, id, version + 1);
    },
  },
  {
    name: 'starts one run for an idempotency key, and refuses another request with it',
    async run(api, agent, id) {
      const start = async (input: object) =>
        (await api.post('/api/runs', { agent, id, input }, { 'idempotency-key': id })).status;
      expectEqual(
        'The statuses',
        [201, 200, 422],
        [await start({ a: 1, b: 2 }), await start({ b: 2, a: 1 }), await start({})],
      );
      await api.post(`${runPath(id)}/cancel`, {});
    },
  },
];
