import { expect } from 'vitest';
import { isWaitstateError } from '../../../lambda/core/errors.ts';
import type { SharedStorage } from './shared-storage.ts';

// After everything in a journey.
const LATER = Date.UTC(2031, 0, 1);

/** The outcome of a run: the same however often its processes are killed. */
export interface Outcome {
  readonly status: string;
  readonly result: unknown;
  /** The number of recorded steps. */
  readonly stepNumber: number;
  /** The ids of the journal. */
  readonly journal: readonly string[];
  readonly state: unknown;
  /** The distinct side effects. */
  readonly effects: readonly string[];
}

/** The outcome of a run. Also checks that its storage is consistent and that each step used one idempotency key. */
export async function outcomeOf(shared: SharedStorage, name: string, run: string): Promise<Outcome> {
  const agent = shared.agents(LATER).get(name);
  if (!agent) throw new Error(`Unknown agent "${name}".`);
  expect((await agent.store.verify(run)).problems).toEqual([]);
  const { status, stepNumber, toolResults, state } = await agent.store.load(run);
  const effects = await shared.effects(run);
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

/** The outcomes of a journey: of the run and of its child run. */
export async function journeyOutcomes(shared: SharedStorage, run: string): Promise<readonly [Outcome, Outcome]> {
  return [await outcomeOf(shared, 'trip', run), await outcomeOf(shared, 'hotel', `${run}.hotel`)];
}
