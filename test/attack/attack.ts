import fc from 'fast-check';
import { expect } from 'vitest';
import { repeatable } from '../faults/seeded.ts';
import { findProblems } from './answers.ts';
import type { Operation } from './open-api.ts';
import { type Arsenal, requestsTo } from './requests.ts';
import { type AttackScene, attacker, MARK } from './scene.ts';

export interface AttackOptions {
  /** How many requests. FC_RUNS says otherwise, and FC_SEED with which values; a failure says both. */
  readonly runs: number;
  readonly arsenal: Arsenal;
  /** All that is described, whatever is attacked. */
  readonly described: readonly Operation[];
}

/** Sends requests of all kinds to an operation, and looks at each answer; gives the statuses that were answered. */
export async function attack(
  scene: AttackScene,
  operation: Operation,
  { runs, arsenal, described }: AttackOptions,
): Promise<ReadonlySet<number>> {
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(requestsTo(operation, arsenal), async (request) => {
      const asked = { ...request, as: attacker() };
      const got = await scene.ask(asked);
      statuses.add(got.status);
      expect(findProblems(scene.openApi, described, asked, got)).toEqual([]);
      await scene.settle();
    }),
    repeatable(runs),
  );
  return statuses;
}

/** Nothing that the attacker has no business with is other than before, and nothing secret was logged. */
export async function expectUnharmed(scene: AttackScene, before: unknown): Promise<void> {
  expect(await scene.untouched()).toEqual(before);
  expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted');
  const secrets = [MARK, ...scene.own.tokens, ...scene.theirs.tokens];
  expect(scene.logged.filter((line) => secrets.some((secret) => line.includes(secret)))).toEqual([]);
  expect(scene.logged.filter((line) => line.includes('"level":"error"'))).toEqual([]);
}
