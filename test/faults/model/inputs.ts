import fc from 'fast-check';
import { STATUSES } from '../../../lambda/core/status.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../clock.ts';
import { noise } from '../seeded.ts';
import type { Fields, Model, SaveOf, WhichOf } from './model.ts';
import { live, type Plain } from './values.ts';
import type { World } from './world.ts';

const RUNS = ['a', 'b', 'c'];
const NAMES = ['first', 'second'];

export const store = fc.nat(2);
// One of them more often, so that it comes to have a history.
export const run = fc.constantFrom('a', 'a', 'a', ...RUNS);
const back = fc.nat(6);

/** A part of a state: short or long, plain or a payload. Few different ones, so that they meet again. */
const part: fc.Arbitrary<Plain> = fc
  .tuple(fc.constantFrom(0, 5, 60, 900, 4000), fc.nat(4), fc.boolean())
  .map(([length, seed, apart]) => (apart ? { payload: noise(seed, length) } : noise(seed, length)));

/** What is made of the state that is there. */
export const change = fc.oneof(
  fc.record({ make: fc.constant('append' as const), part }),
  fc.record({ make: fc.constant('replace' as const), part, size: fc.nat(3) }),
  fc.record({ make: fc.constant('shorten' as const), part }),
);

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** The same for the model's state, of plain values, and for a store's, of live ones. */
export function changed<T>(state: unknown, step: Change, made: (plain: Plain) => T): { readonly items: readonly T[] } {
  const items = itemsOf(state) as readonly T[];
  if (step.make === 'append') return { items: [...items, made(step.part)] };
  if (step.make === 'shorten') return { items: items.slice(1) };
  return { items: Array.from({ length: step.size }, () => made(step.part)) };
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
      writeId: fc.constant('its own'),
      retentionSeconds: fc.constantFrom(MINUTE / SECOND, (6 * HOUR) / SECOND, (3 * DAY) / SECOND),
    },
    { requiredKeys: [] },
  )
  // Most saves are plain ones: not every field is in each.
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
export const which = fc.oneof(
  fc.record({ back }),
  fc.record({ beyond: fc.constantFrom(1, 1000) }),
  fc.record({ name: fc.constantFrom(...NAMES) }),
);
type Chosen = { readonly back: number } | { readonly beyond: number } | { readonly name: string };

export const lengthOf = (model: Model, id: string): number => model.runs.get(id)?.versions.length ?? 0;

export function whichOf(model: Model, id: string, chosen: Chosen): WhichOf {
  if ('name' in chosen) return chosen;
  const length = lengthOf(model, id);
  return { version: 'beyond' in chosen ? length + chosen.beyond : Math.max(1, length - chosen.back) };
}

/** An id for each write that is to have one. */
export function withWriteId(world: World, fields: Fields): Fields {
  return fields.writeId === undefined ? fields : { ...fields, writeId: `write ${++world.writeIds}` };
}

export function defined(fields: { readonly [F in keyof Fields]: Fields[F] | undefined }): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

export function liveFields({ toolResults, ...fields }: Fields) {
  return { ...fields, ...(toolResults && { toolResults: live(toolResults) as Record<string, unknown> }) };
}

export function liveInput({ state, run, expectedVersion, ...fields }: SaveOf) {
  return { ...liveFields(fields), run, expectedVersion, ...(state !== undefined && { state: live(state) }) };
}
