import fc from 'fast-check';
import { STATUSES } from '../../../lambda/core/status.ts';
import { noise } from '../seeded.ts';
import type { CheckpointRef, Fields, Model, SaveOf } from './model.ts';
import { live, type Plain } from './values.ts';
import type { World } from './world.ts';

const RUNS = ['a', 'b', 'c'];
const NAMES = ['first', 'second'];

export const store = fc.nat(2);
// One of them more often, so that it gets a history.
export const run = fc.constantFrom('a', 'a', 'a', ...RUNS);
const back = fc.nat(6);

/** A part of a state: short or long, plain or a payload. There are few different ones, so that they recur. */
const part: fc.Arbitrary<Plain> = fc
  .tuple(fc.constantFrom(0, 5, 60, 900, 4000), fc.nat(4), fc.boolean())
  .map(([length, seed, isPayload]) => (isPayload ? { payload: noise(seed, length) } : noise(seed, length)));

/** A change of the current state. */
export const change = fc.oneof(
  fc.record({ make: fc.constant('append' as const), part }),
  fc.record({ make: fc.constant('replace' as const), part, size: fc.nat(3) }),
  fc.record({ make: fc.constant('shorten' as const), part }),
);

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** Changes a state of the model, with plain values, or of a store, with live values. */
export function changed<T>(
  state: unknown,
  step: Change,
  create: (plain: Plain) => T,
): { readonly items: readonly T[] } {
  const items = itemsOf(state) as readonly T[];
  if (step.make === 'append') return { items: [...items, create(step.part)] };
  if (step.make === 'shorten') return { items: items.slice(1) };
  return { items: Array.from({ length: step.size }, () => create(step.part)) };
}

function itemsOf(state: unknown): readonly unknown[] {
  return typeof state === 'object' && state !== null && 'items' in state && Array.isArray(state.items)
    ? state.items
    : [];
}

export const inModel = (step: Change) => (state: Plain | undefined) => changed(state, step, (plain) => plain) as Plain;

export const fields: fc.Arbitrary<Fields> = fc
  .record(
    {
      step: fc.constantFrom('search', 'book'),
      status: fc.constantFrom(...STATUSES, 'RUNNING' as const, 'RUNNING' as const, 'READY' as const),
      name: fc.constantFrom(...NAMES),
      moveName: fc.boolean(),
      labels: fc.constantFrom('x', 'y').map((by) => ({ by })),
      toolResults: fc.dictionary(fc.constantFrom('call-1', 'call-2', '$'), part, { maxKeys: 2, noNullPrototype: true }),
      forgetToolResults: fc.constant(true as const),
      model: fc.constantFrom('m1', 'm2').map((id) => ({ id })),
      writeId: fc.constant('replaced by `withWriteId`'),
      retention: fc.constantFrom({ minutes: 1 }, { hours: 6 }, { days: 3 }),
    },
    { requiredKeys: [] },
  )
  // Most saves have only a few of the fields.
  .chain((all) => {
    const keys = Object.keys(all);
    return fc.subarray(keys, { maxLength: Math.min(3, keys.length) }).map((chosen) => pick(all, chosen));
  });

const pick = (all: Fields, keys: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key)));

export const expected = fc.oneof(
  { weight: 8, arbitrary: fc.constant('newest' as const) },
  { weight: 4, arbitrary: fc.constant('seen' as const) },
  { weight: 2, arbitrary: fc.constant('new' as const) },
  { weight: 2, arbitrary: fc.constant('older' as const) },
  { weight: 1, arbitrary: fc.constant('wild' as const) },
);

/** A checkpoint of a run: the newest, one some versions before it, one that never existed, or by name. */
export const choice = fc.oneof(
  fc.record({ back }),
  fc.record({ beyond: fc.constantFrom(1, 1000) }),
  fc.record({ name: fc.constantFrom(...NAMES) }),
);
type Chosen = { readonly back: number } | { readonly beyond: number } | { readonly name: string };

export const lengthOf = (model: Model, id: string): number => model.runs.get(id)?.versions.length ?? 0;

export function resolveChoice(model: Model, id: string, chosen: Chosen): CheckpointRef {
  if ('name' in chosen) return chosen;
  const length = lengthOf(model, id);
  return { version: 'beyond' in chosen ? length + chosen.beyond : Math.max(1, length - chosen.back) };
}

/** Gives a unique id to a write that has one. */
export function withWriteId(world: World, fields: Fields): Fields {
  return fields.writeId === undefined ? fields : { ...fields, writeId: `write ${++world.writeIds}` };
}

export function withoutUndefined(fields: { readonly [F in keyof Fields]: Fields[F] | undefined }): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function liveFields({ toolResults, ...fields }: Fields) {
  return { ...fields, ...(toolResults && { toolResults: live(toolResults) as Record<string, unknown> }) };
}

export function liveInput({ state, run, expectedVersion, ...fields }: SaveOf) {
  return { ...liveFields(fields), run, expectedVersion, ...(state !== undefined && { state: live(state) }) };
}
