import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openApiOf } from '../../lambda/api/open-api.ts';
import { ROUTES } from '../../lambda/api/routes/routes.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { awsStorage } from '../engines/engines.ts';
import { repeatable } from '../faults/seeded.ts';
import { folderStorage } from '../runtime/places.ts';
import { wrongsOf } from './answers.ts';
import { arsenalOf } from './arsenal.ts';
import { type OpenApi, type Operation, operationsOf } from './open-api.ts';
import { requestsTo } from './requests.ts';
import { type AttackScene, attacker, attackScene, MARK } from './scene.ts';

// FC_RUNS=5000 tries each more often, FC_SEED=1 with other values; a failure says both.
const RUNS = 150;
const RUNS_ON_ENGINES = 12;

const operations = operationsOf(openApiOf(ROUTES) as OpenApi);

describe('whatever is sent', () => {
  test.each(operations)('to $method $path, the answer is as described and shows nothing', async (operation) => {
    const scene = await attackScene(memoryStorage());
    const before = await scene.untouched();
    const statuses = await attack(scene, operation, RUNS);
    await expectUnharmed(scene, before);
    expect([...statuses], 'It must also do what it does.').toContainEqual(expect.toSatisfy((status) => status < 300));
  });

  test.each([
    ['in a folder', folderStorage],
    ['on DynamoDB and S3', awsStorage],
  ])('to any route %s, the answer is as described and shows nothing', async (_, open) => {
    const scene = await attackScene(await open());
    const before = await scene.untouched();
    for (const operation of operations) await attack(scene, operation, RUNS_ON_ENGINES);
    await expectUnharmed(scene, before);
  });
});

/** Sends requests of all kinds to an operation; gives the statuses that were answered. */
async function attack(scene: AttackScene, operation: Operation, runs: number): Promise<ReadonlySet<number>> {
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(requestsTo(operation, arsenalOf(scene)), async (request) => {
      const asked = { ...request, as: attacker() };
      const got = await scene.ask(asked);
      statuses.add(got.status);
      expect(wrongsOf(scene.openApi, operations, asked, got)).toEqual([]);
      await scene.settle();
    }),
    repeatable(runs),
  );
  return statuses;
}

/** Nothing that the attacker has no business with is other than before, and nothing secret was logged. */
async function expectUnharmed(scene: AttackScene, before: unknown): Promise<void> {
  expect(await scene.untouched()).toEqual(before);
  expect(Object.getOwnPropertyNames(Object.prototype).filter((name) => name === 'polluted')).toEqual([]);
  const secrets = [MARK, ...scene.own.tokens, ...scene.theirs.tokens];
  expect(scene.logged.filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([]);
  expect(scene.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
}
