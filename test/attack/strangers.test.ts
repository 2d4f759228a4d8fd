import { beforeAll, describe, expect, test } from 'vitest';
import { toOpenApi } from '../../lambda/api/open-api.ts';
import { ROUTES } from '../../lambda/api/routes/routes.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { type OpenApi, type Operation, operationsOf } from './open-api.ts';
import { type AttackScene, attacker, attackScene, MARK, VICTIM } from './scene.ts';

const operations = operationsOf(toOpenApi(ROUTES) as OpenApi);
const runOperations = operations.filter(({ path }) => path.includes('{run}'));
// Of the same length, so that responses can differ only in the id.
const [THEIRS, MISSING] = ['known-asks', 'nobod-asks'];

describe('a run of another tenant', () => {
  let scene: AttackScene;
  let before: unknown;
  beforeAll(async () => {
    scene = await attackScene(memoryStorage());
    before = await scene.untouched();
  });

  test.each(runOperations)('does not exist for $method $path', async (operation) => {
    const theirs = await request(scene, operation, THEIRS);
    const missing = await request(scene, operation, MISSING);
    expect(theirs.replaceAll(THEIRS, MISSING)).toBe(missing);
  });

  test('stays hidden from a request that names its tenant', async () => {
    const names = ['tenant', 'tenantId', 'x-tenant', 'x-waitstate-tenant', 'x-amzn-oidc-tenant'];
    const headers = [
      ...names.map((name) => [name, VICTIM] as const),
      ['accept', 'text/html'] as const,
      ['cookie', `tenant=${VICTIM}`] as const,
    ];
    const paths = operations
      .filter(({ method, path }) => method === 'GET' && !path.includes('{'))
      .map(({ path }) => path);
    for (const path of [
      ...paths,
      '/console/runs',
      '/console/inbox',
      '/console/changes',
      '/console/start',
      '/console/runs/known-asks',
    ])
      for (const search of ['', '?tenant=south', '?tenant[]=south&tenantId=south', '?all=true'])
        for (const given of [[], headers]) {
          const got = await scene.request({ method: 'GET', path: `${path}${search}`, headers: given, as: attacker() });
          expect(got.status, path).toBeLessThan(500);
          expect(got.text).not.toContain(MARK);
        }
  });

  test('stays hidden from a request with its cursor, its payloads or a document that refers to them', async () => {
    const { own, theirs } = scene;
    const as = attacker();
    for (const cursor of theirs.cursors) {
      const { text } = await scene.request({ method: 'GET', path: `/api/runs?cursor=${cursor}`, as });
      const { runs } = JSON.parse(text) as { runs: { run: string }[] };
      expect(runs.filter(({ run }) => run.startsWith('known'))).toEqual([]);
    }
    const ids = [...theirs.payloads, ...theirs.shownPayloads];
    expect(ids.length).toBeGreaterThan(1);
    for (const id of ids) {
      for (const path of ['checkpoints/latest', 'approvals/book'])
        expect(
          await scene.request({ method: 'GET', path: `/api/runs/own-asks/${path}/payloads/${id}`, as }),
        ).toMatchObject({ status: 404 });
      for (const tricked of [
        `${own.tokens[0]}/payloads/${id}`,
        `${own.tokens[0]}/payloads/..%2F..%2Fsouth%2Fknown-asks%2F${id}`,
      ])
        expect(await scene.request({ method: 'GET', path: `/approvals/${tricked}`, as })).toMatchObject({
          status: 404,
        });
      const state = { $: ['payload', id, '0'.repeat(64), 9, 'image/png'] };
      const bodies: readonly (readonly [path: string, body: object])[] = [
        ['/api/runs', { agent: 'trips', input: state }],
        ['/api/runs/own-asks/fork', { state }],
        ['/api/runs/own-asks/fork', { toolResults: { a: state } }],
        ['/api/runs/own-asks/signals', { name: 'seat', value: [state] }],
        ['/api/runs/own-plain%201/checkpoints', { state }],
        ['/api/runs/own-plain%201/finish', { status: 'SUCCEEDED', result: state }],
        [
          '/api/runs/own-plain%201/approvals',
          { approval: { name: 'a', title: 'a', approvers: ['user:ann'], show: state } },
        ],
      ];
      for (const [path, body] of bodies) {
        const headers = [
          ['content-type', 'application/json'],
          ['if-match', '"1"'],
        ] as const;
        const got = await scene.request({ method: 'POST', path, headers, body: JSON.stringify(body), as });
        expect(got.status, `${path}: ${got.text}`).toBeGreaterThanOrEqual(400);
        expect(got.status, `${path}: ${got.text}`).toBeLessThan(500);
      }
    }
  });

  test('shares no payloads, and neither do two runs of the same tenant', async () => {
    const as = attacker();
    const { payloads } = await scene.operator('north').checkpoint('own-asks too');
    for (const { id } of payloads) {
      const at = (run: string) => `/api/runs/${run}/checkpoints/latest/payloads/${id}`;
      expect(await scene.request({ method: 'GET', path: at('own-asks%20too'), as })).toMatchObject({ status: 200 });
      expect(await scene.request({ method: 'GET', path: at('own-asks'), as })).toMatchObject({ status: 404 });
    }
  });

  test('is unchanged after all these requests', async () => expect(await scene.untouched()).toEqual(before));
});

/** The full response of an operation for a run; all other parameters are valid. */
async function request(scene: AttackScene, { path, method, body }: Operation, run: string): Promise<string> {
  const [payload = ''] = scene.theirs.payloads;
  const parts: Readonly<Record<string, string>> = { run, payload, approval: 'book', version: 'latest' };
  const search = path.endsWith('/diff') ? '?before=1&after=2' : '';
  const got = await scene.request({
    method,
    path: `${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parts[name] ?? '')}${search}`,
    headers: [
      ['content-type', 'application/json'],
      ['if-match', '"1"'],
    ],
    ...(body && { body: JSON.stringify(BODIES[path.split('/').at(-1) ?? ''] ?? {}) }),
    as: attacker(),
  });
  const headers = [...got.headers].map(([name, value]) => `${name}: ${value}`);
  return [got.status, ...headers, got.text.replaceAll(/upload-[\w-]+/g, 'upload')].join('\n');
}

const BODIES: Readonly<Record<string, object>> = {
  signals: { name: 'seat' },
  rewind: { version: 1 },
  approvals: { approval: { name: 'a', title: 'a', approvers: ['user:ann'] } },
  waits: { signal: 'seat' },
  finish: { status: 'SUCCEEDED' },
  decide: { answer: 'approve', by: 'user:ann' },
  withdraw: { reason: 'over' },
};
