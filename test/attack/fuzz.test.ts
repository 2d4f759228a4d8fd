import { beforeAll, describe, expect, test } from 'vitest';
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
import { type AttackScene, attacker, attackScene } from './scene.ts';

const RUNS = 150;
const RUNS_ON_ENGINES = 12;
const MAX_ROUNDS = 10;

const operations = operationsOf(toOpenApi(ROUTES) as OpenApi);
// These end the runs that the other requests need.
const ENDING = ['/api/runs/{run}/finish', '/api/runs/{run}/cancel'];
const attacked = operations.toSorted((a, b) => ENDING.indexOf(a.path) - ENDING.indexOf(b.path));

describe('the API under hostile requests', () => {
  let scene: AttackScene;
  let before: unknown;
  const openScene = async () => {
    scene = await attackScene(memoryStorage());
    before = await scene.untouched();
  };
  beforeAll(openScene);

  test.each(attacked)('responds to $method $path as described and leaks nothing', async (operation) => {
    const statuses = new Set<number>();
    const hasSucceeded = () => [...statuses].some((status) => status < 300);
    for (let round = 0; round < MAX_ROUNDS && !hasSucceeded(); round++) {
      // No request succeeded: requests are random, and earlier ones may have ended the runs that this route needs.
      if (round > 0) {
        await expectUnharmed(scene, before);
        await openScene();
      }
      const attacking = { runs: RUNS, round, arsenal: createArsenal(scene), described: operations };
      for (const status of await attack(scene, operation, attacking)) statuses.add(status);
    }
    expect(hasSucceeded(), `Some requests must succeed; found ${[...statuses].join(', ')}.`).toBe(true);
  });

  test('leaves all data unchanged that the attacker may not access', () => expectUnharmed(scene, before));

  test('responds to every GET for every kind of run as described and leaks nothing', async () => {
    const fresh = await attackScene(memoryStorage());
    const pages = ['', '/lineage', '/approvals', '/checkpoints/1', '/checkpoints/2', '/diff?before=1&after=2', '/fork'];
    for (const run of fresh.own.runs) {
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
        expect(findProblems(fresh.openApi, operations, request, await fresh.request(request)), path).toEqual([]);
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
