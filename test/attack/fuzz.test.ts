import { describe, expect, test } from 'vitest';
import { toOpenApi } from '../../lambda/api/open-api.ts';
import { ROUTES } from '../../lambda/api/routes/routes.ts';
import { encodePathId } from '../../lambda/http/path-id.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { awsStorage } from '../engines/engines.ts';
import { folderStorage } from '../runtime/storages.ts';
import { findProblems } from './answers.ts';
import { createArsenal } from './arsenal.ts';
import { attack, expectUnharmed } from './attack.ts';
import { type OpenApi, operationsOf } from './open-api.ts';
import { attacker, attackScene } from './scene.ts';

const RUNS = 150;
const RUNS_ON_ENGINES = 12;
const MAX_ROUNDS = 10;

const operations = operationsOf(toOpenApi(ROUTES) as OpenApi);

describe('the API under hostile requests', () => {
  test.each(operations)('responds to $method $path as described and leaks nothing', async (operation) => {
    const scene = await attackScene(memoryStorage());
    const before = await scene.untouched();
    const attacking = { runs: RUNS, arsenal: createArsenal(scene), described: operations };
    const statuses = new Set<number>();
    const hasSucceeded = () => [...statuses].some((status) => status < 300);
    // Requests are random: now and then no request of a round succeeds.
    for (let round = 0; round < MAX_ROUNDS && !hasSucceeded(); round++)
      for (const status of await attack(scene, operation, { ...attacking, round })) statuses.add(status);
    await expectUnharmed(scene, before);
    expect(hasSucceeded(), `Some requests must succeed; found ${[...statuses].join(', ')}.`).toBe(true);
  });

  test('responds to every GET for every kind of run as described and leaks nothing', async () => {
    const scene = await attackScene(memoryStorage());
    const pages = ['', '/lineage', '/approvals', '/checkpoints/1', '/checkpoints/2', '/diff?before=1&after=2', '/fork'];
    for (const run of scene.own.runs) {
      const readable = operations.filter(({ method, path }) => method === 'GET' && path.includes('{run}'));
      const paths = readable.map(({ path }) => path.replace('{run}', encodePathId(run)).replace('{approval}', 'book'));
      const all = [
        ...paths.flatMap((path) => ['1', '2', 'latest'].map((version) => path.replace('{version}', version))),
        ...pages.map((page) => `/console/runs/${encodePathId(run)}${page}`),
      ];
      for (const path of new Set(all)) {
        const search = path.endsWith('/diff') ? '?before=1&after=latest' : '';
        const headers = path.startsWith('/console') ? ([['accept', 'text/html']] as const) : [];
        const request = { method: 'GET', path: `${path}${search}`, headers, as: attacker() };
        expect(findProblems(scene.openApi, operations, request, await scene.request(request)), path).toEqual([]);
      }
    }
  });

  test.each([
    ['in a folder', folderStorage],
    ['on DynamoDB and S3', awsStorage],
  ])(
    'responds on every route %s as described and leaks nothing',
    async (_, open) => {
      const scene = await attackScene(await open());
      const before = await scene.untouched();
      const attacking = { runs: RUNS_ON_ENGINES, arsenal: createArsenal(scene), described: operations };
      for (const operation of operations) await attack(scene, operation, attacking);
      await expectUnharmed(scene, before);
    },
    300_000,
  );
});
