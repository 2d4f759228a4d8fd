import { beforeAll, describe, expect, test } from 'vitest';
import { createApi } from '../../lambda/api/app.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { createArsenal } from './arsenal.ts';
import { attack, expectUnharmed } from './attack.ts';
import { type Operation, operationsOf, type Parameter } from './open-api.ts';
import { type AttackScene, attacker, attackScene } from './scene.ts';

const RUNS = 60;

/** Every page and form of the console, read from the routes because the OpenAPI document has no pages. */
const pages = createApi({
  runtime: {} as never,
  identify: () => undefined,
  telemetry: { log: () => {}, count: () => {} },
})
  .routes.filter(({ method, path }) => method !== 'ALL' && (path.startsWith('/console') || path === '/'))
  .map(({ method, path }) => ({ method, path: path.replaceAll(/:(\w+)/g, '{$1}') }))
  // Cancelling ends the runs that the other forms need.
  .toSorted((a, b) => Number(a.path.endsWith('/cancel')) - Number(b.path.endsWith('/cancel')));

describe('the console under hostile requests', () => {
  let scene: AttackScene;
  let before: unknown;
  let names: readonly string[];
  beforeAll(async () => {
    scene = await attackScene(memoryStorage());
    before = await scene.untouched();
    names = await findNames(scene);
  });

  test.each(pages)('shows nothing of another tenant and no internals on $method $path', async (page) => {
    const own = createArsenal(scene);
    const arsenal = { ...own, samples: own.samples.map((sample) => ({ ...sample, ...FIELDS })) };
    const described = operationsOf(scene.openApi);
    const statuses = new Set<number>();
    const hasSucceeded = () => [...statuses].some((status) => status < 400);
    // Requests are random: now and then no request of a round succeeds.
    for (let round = 0; round < MAX_ROUNDS && !hasSucceeded(); round++) {
      const statusCodes = await attack(scene, toOperation(page, names), { runs: RUNS, round, arsenal, described });
      for (const status of statusCodes) statuses.add(status);
    }
    expect(hasSucceeded(), `Some requests must succeed; found ${[...statuses].join(', ')}.`).toBe(true);
  });

  test('leaves all data unchanged that the attacker may not access', () => expectUnharmed(scene, before));
});

const MAX_ROUNDS = 25;

// Values for forms and queries with which requests succeed.
const FIELDS = {
  ...{ version: '2', before: '1', after: '2', name: 'seat', value: '1', reason: 'over', agent: 'trips', input: '{}' },
  ...{ answer: 'approve', by: 'user:ann' },
  ...{ person: 'user:ann', delegate: 'user:cho', from: '', until: '2026-06-01T10:00:00Z' },
};

/** An operation for a page, with these names as query parameters or as form fields. */
function toOperation(
  { method, path }: { readonly method: string; readonly path: string },
  names: readonly string[],
): Operation {
  const text = { type: 'string' } as const;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(
    ([, name = '']): Parameter => ({ name, in: 'path', required: true, schema: text }),
  );
  const inQuery = names.map((name): Parameter => ({ name, in: 'query', required: false, schema: text }));
  const isForm = method === 'POST';
  return {
    ...{ name: `${method} ${path}`, method, path, responses: {}, roles: [] },
    parameters: isForm ? inPath : [...inPath, ...inQuery],
    body: isForm ? { type: 'object', properties: Object.fromEntries(names.map((name) => [name, text])) } : undefined,
    types: isForm ? ['application/x-www-form-urlencoded'] : [],
  };
}

/** The names of all form fields and query parameters on the pages of the console. */
async function findNames(scene: AttackScene): Promise<readonly string[]> {
  const names = new Set(Object.keys(FIELDS));
  const run = scene.own.runs.find((each) => each.endsWith('-asks')) ?? '';
  for (const { method, path } of pages) {
    if (method !== 'GET') continue;
    const at = path.replace('{run}', run).replace('{version}', '1').replace('{approval}', 'book');
    const { text } = await scene.request({ method, path: at, headers: [['accept', 'text/html']], as: attacker() });
    for (const [, name = ''] of text.matchAll(/ name="([^"]+)"/g)) names.add(name);
    for (const [, query = ''] of text.matchAll(/ (?:href|data-\w+)="[^"?]*\?([^"]+)"/g))
      for (const name of new URLSearchParams(query.replaceAll('&amp;', '&')).keys()) names.add(name);
  }
  return [...names].toSorted();
}
