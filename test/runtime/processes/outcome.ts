import { expect } from 'vitest';
import { isWaitstateError } from '../../../lambda/core/errors.ts';
import type { SharedStorage } from './shared-storage.ts';

// Everything has happened by then.
const LATER = Date.UTC(2031, 0, 1);

/** What came of a run: the same however often its processes died. */
export interface Outcome {
  readonly status: string;
  readonly result: unknown;
  /** How many steps were recorded, and the operations that are in the journal. */
  readonly stepNumber: number;
  readonly journal: readonly string[];
  readonly state: unknown;
  /** What was done to the world, each thing named once. */
  readonly effects: readonly string[];
}

/** What came of a run of an agent; its storage is sound, and each of its steps used one key. */
export async function outcomeOf(place: SharedStorage, name: string, run: string): Promise<Outcome> {
  const agent = place.agents(LATER).get(name);
  if (!agent) throw new Error(`There is no agent ${name}.`);
  expect((await agent.store.verify(run)).problems).toEqual([]);
  const { status, stepNumber, toolResults, state } = await agent.store.load(run);
  const effects = await place.effects(run);
  const keys = new Map(effects.map(({ what, idempotencyKey }) => [what, idempotencyKey]));
  for (const { what, idempotencyKey } of effects) expect(idempotencyKey, what).toBe(keys.get(what));
  expect(new Set(keys.values()).size).toBe(keys.size);
  const result = await agent
    .run(run)
    .result()
    .catch((error: unknown) => {
      if (isWaitstateError(error, 'RUN_FAILED')) return String(error.cause);
      throw error;
    });
  return {
    status,
    result,
    stepNumber,
    journal: Object.keys(toolResults).sort(),
    state,
    effects: [...keys.keys()].sort(),
  };
}

/** What came of a journey: of the run, and of the one that it called. */
export async function journeyOutcomes(place: SharedStorage, run: string): Promise<readonly [Outcome, Outcome]> {
  return [await outcomeOf(place, 'trip', run), await outcomeOf(place, 'hotel', `${run}.hotel`)];
}
