import fc from 'fast-check';
import { expect } from 'vitest';
import { repeatable } from '../faults/repeatable.ts';
import { findProblems } from './answers.ts';
import type { Operation } from './open-api.ts';
import { type Arsenal, requestsTo } from './requests.ts';
import { type AttackScene, attacker, MARK } from './scene.ts';

/** How to attack an operation. */
export interface AttackOptions {
  /** The number of requests. FC_RUNS overrides it, and FC_SEED sets the seed; a failure prints both. */
  readonly runs: number;
  /** Each round sends other requests. @default 0 */
  readonly round?: number;
  readonly arsenal: Arsenal;
  /** All described operations. */
  readonly described: readonly Operation[];
}

/** Sends valid and hostile requests to an operation and checks each response; returns the statuses it received. */
export async function attack(
  scene: AttackScene,
  operation: Operation,
  { runs, round, arsenal, described }: AttackOptions,
): Promise<ReadonlySet<number>> {
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(requestsTo(operation, arsenal), async (request) => {
      const sent = { ...request, as: attacker() };
      const got = await scene.request(sent);
      statuses.add(got.status);
      expect(findProblems(scene.openApi, described, sent, got)).toEqual([]);
      await scene.settle();
    }),
    repeatable(runs, round),
  );
  return statuses;
}

/** Expects that no data out of the attacker's reach has changed, and that no secret and no error was logged. */
export async function expectUnharmed(scene: AttackScene, before: unknown): Promise<void> {
  expect(await scene.untouched()).toEqual(before);
  expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted');
  const secrets = [MARK, ...scene.own.tokens, ...scene.theirs.tokens];
  expect(scene.logged.filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([]);
  expect(scene.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
}
