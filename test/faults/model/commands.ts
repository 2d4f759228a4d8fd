import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { Checkpoint } from '../../../lambda/checkpoints/checkpoint.ts';
import type { CheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import { isHoldpointError } from '../../../lambda/core/errors.ts';
import { STATUSES } from '../../../lambda/core/status.ts';
import { type Clock, DAY, HOUR, MINUTE, SECOND } from '../clock.ts';
import { noise } from '../seeded.ts';
import {
  endOf,
  type Fields,
  type Model,
  Refused,
  type SaveOf,
  type Seen,
  type Version,
  type WhichOf,
} from './model.ts';
import { live, type Plain, plainOf } from './values.ts';

/** The stores under test: several on one storage, as several processes would have them. */
export interface World {
  readonly clock: Clock;
  readonly stores: CheckpointStore[];
  /** A store that knows nothing yet, as after a restart. */
  reopen(place: number): CheckpointStore;
  /** The checkpoint that the caller of each store last got of each run. */
  readonly seen: Map<string, Seen & Pick<Checkpoint, 'hash'>>[];
  /** The last save of each run under an id of its own, for trying it again. */
  readonly saves: Map<string, SaveOf>;
  writeIds: number;
}

type Command = fc.AsyncCommand<Model, World>;

/** One thing that is done to the model and to a store, in which both must come to the same. */
class Act<Args> implements Command {
  readonly #name: string;
  readonly #args: Args;
  readonly #act: (model: Model, world: World, args: Args) => Promise<unknown>;

  constructor(name: string, args: Args, act: (model: Model, world: World, args: Args) => Promise<unknown>) {
    this.#name = name;
    this.#args = args;
    this.#act = act;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, world: World): Promise<void> {
    await this.#act(model, world, this.#args);
    if (model.now !== world.clock.now) throw new Error('The model and the stores have different times.');
  }

  toString(): string {
    const short = (_: string, value: unknown) =>
      typeof value === 'string' && value.length > 12 ? `${value.slice(0, 5)}… ${value.length}` : value;
    return `${this.#name}(${JSON.stringify(this.#args, short)})`;
  }
}

const RUNS = ['a', 'b', 'c'];
const NAMES = ['first', 'second'];

const store = fc.nat(2);
// One of them more often, so that it comes to have a history.
const run = fc.constantFrom('a', 'a', 'a', ...RUNS);
const back = fc.nat(6);

/** A part of a state: short or long, plain or a payload. Few different ones, so that they meet again. */
const part: fc.Arbitrary<Plain> = fc
  .tuple(fc.constantFrom(0, 5, 60, 900, 4000), fc.nat(4), fc.boolean())
  .map(([length, seed, apart]) => (apart ? { payload: noise(seed, length) } : noise(seed, length)));

/** What is made of the state that is there. */
const change = fc.oneof(
  fc.record({ make: fc.constant('append' as const), part }),
  fc.record({ make: fc.constant('replace' as const), part, size: fc.nat(3) }),
  fc.record({ make: fc.constant('shorten' as const), part }),
);

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** The same for the model's state, of plain values, and for a store's, of live ones. */
function changed<T>(state: unknown, step: Change, made: (plain: Plain) => T): { readonly items: readonly T[] } {
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

const inModel = (step: Change) => (state: Plain | undefined) => changed(state, step, (plain) => plain) as Plain;

const fields: fc.Arbitrary<Fields> = fc
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

const expected = fc.oneof(
  { weight: 8, arbitrary: fc.constant('newest' as const) },
  { weight: 4, arbitrary: fc.constant('seen' as const) },
  { weight: 2, arbitrary: fc.constant('new' as const) },
  { weight: 2, arbitrary: fc.constant('older' as const) },
  { weight: 1, arbitrary: fc.constant('wild' as const) },
);

/** A checkpoint of a run: the newest, so many before it, one that was never there, or by name. */
const which = fc.oneof(
  fc.record({ back }),
  fc.record({ beyond: fc.constantFrom(1, 1000) }),
  fc.record({ name: fc.constantFrom(...NAMES) }),
);
type Chosen = { readonly back: number } | { readonly beyond: number } | { readonly name: string };

const lengthOf = (model: Model, id: string): number => model.runs.get(id)?.versions.length ?? 0;

function whichOf(model: Model, id: string, chosen: Chosen): WhichOf {
  if ('name' in chosen) return chosen;
  const length = lengthOf(model, id);
  return { version: 'beyond' in chosen ? length + chosen.beyond : Math.max(1, length - chosen.back) };
}

const act = <Args>(
  name: string,
  args: fc.Arbitrary<Args>,
  run: (model: Model, world: World, args: Args) => Promise<unknown>,
) => args.map((given) => new Act(name, given, run));

const storeOf = (world: World, place: number): CheckpointStore => world.stores[place] as CheckpointStore;

/** Everything that can be done, some of it more often. */
export const commands: readonly fc.Arbitrary<Command>[] = [
  ...often(
    5,
    act('save', fc.record({ store, run, expected, step: fc.option(change), fields }), async (model, world, args) => {
      const newest = lengthOf(model, args.run);
      const seen = seenBy(world, args.store).get(args.run);
      const versions = { newest, seen: seen?.version ?? 0, new: 0, older: Math.max(0, newest - 1), wild: newest + 7 };
      const state = args.step && inModel(args.step)(model.runs.get(args.run)?.versions.at(-1)?.state);
      const input = {
        ...withWriteId(world, args.fields),
        ...{ run: args.run, expectedVersion: versions[args.expected] },
        ...(state !== null && { state }),
      };
      if (input.writeId !== undefined) world.saves.set(args.run, input);
      await sameAndSeen(
        model,
        world,
        args,
        () => model.save(input, args.expected === 'seen' ? seen : undefined),
        (store) =>
          store.save({ ...liveInput(input), ...(seen && args.expected === 'seen' && { expectedVersion: seen }) }),
      );
    }),
  ),
  act('save again', fc.record({ store, run }), async (model, world, args) => {
    const input = world.saves.get(args.run);
    if (!input) return;
    await sameAndSeen(
      model,
      world,
      args,
      () => model.save(input),
      (store) => store.save(liveInput(input)),
    );
  }),
  // By a new process that found its own write to be the newest, and expects that.
  act('save again after a restart', fc.record({ store, run }), async (model, world, args) => {
    const input = world.saves.get(args.run);
    const newest = model.runs.get(args.run)?.versions.at(-1);
    if (!input || !newest || newest.writeId !== input.writeId) return;
    restart(world, args.store);
    const again = { ...input, expectedVersion: newest.version };
    await sameAndSeen(
      model,
      world,
      args,
      () => model.save(again),
      (store) => store.save(liveInput(again)),
    );
  }),
  ...often(
    2,
    act('update', fc.record({ store, run, step: change, fields }), async (model, world, args) => {
      const { writeId: _, ...given } = args.fields;
      await sameAndSeen(
        model,
        world,
        args,
        () => model.update(args.run, inModel(args.step), given),
        (store) => store.update(args.run, (state) => changed(state, args.step, live), liveFields(given)),
      );
    }),
  ),
  ...often(
    2,
    act('load', fc.record({ store, run, chosen: fc.option(which) }), async (model, world, args) => {
      const at = args.chosen ? whichOf(model, args.run, args.chosen) : undefined;
      const compare = at ? same : sameAndSeen;
      await compare(
        model,
        world,
        args,
        () => model.load(args.run, at),
        (store) => store.load(args.run, at),
      );
    }),
  ),
  // A state that was loaded, payloads and all, is put into another run by another store.
  act('carry', fc.record({ store, other: store, run, to: run, chosen: which }), async (model, world, args) => {
    const at = whichOf(model, args.run, args.chosen);
    const source = await outcome(() => model.load(args.run, at));
    const loaded = await outcome(() => storeOf(world, args.store).load(args.run, at));
    if ('error' in source || 'error' in loaded) return;
    const target = { run: args.to, expectedVersion: lengthOf(model, args.to) };
    const { state } = source.value;
    await sameAndSeen(
      model,
      world,
      { store: args.other, run: args.to },
      () => model.save({ ...target, ...(state !== undefined && { state }) }),
      (other) => other.save({ ...target, ...(state !== undefined && { state: loaded.value.state }) }),
    );
  }),
  act(
    'fork',
    fc.record({
      store,
      run,
      to: run,
      chosen: which,
      step: change,
      fields: fields.map(({ status, writeId }) => defined({ status, writeId })),
    }),
    async (model, world, { run, to, chosen, store, step, ...args }) => {
      const at = whichOf(model, run, chosen);
      const given = withWriteId(world, args.fields);
      const edit = (state: unknown) => changed(state, step, live);
      const fork = () =>
        sameAndSeen(
          model,
          world,
          { store, run: to },
          () => model.fork(run, to, at, given, inModel(step)),
          (forker) => forker.fork(run, { ...at, ...given, id: to, edit }),
        );
      await fork();
      if (given.writeId !== undefined) await fork();
    },
  ),
  act('rewind', fc.record({ store, run, chosen: which }), async (model, world, args) => {
    const at = whichOf(model, args.run, args.chosen);
    await sameAndSeen(
      model,
      world,
      args,
      () => model.rewind(args.run, at),
      (store) => store.rewind(args.run, at),
    );
  }),
  act('undo', fc.record({ store, run }), async (model, world, args) =>
    sameAndSeen(
      model,
      world,
      args,
      () => model.undo(args.run),
      (store) => store.undo(args.run),
    ),
  ),
  act('redo', fc.record({ store, run }), async (model, world, args) =>
    sameAndSeen(
      model,
      world,
      args,
      () => model.redo(args.run),
      (store) => store.redo(args.run),
    ),
  ),
  act(
    'prune',
    fc.record({ store, run, keepLast: fc.integer({ min: 1, max: 4 }), keepNamed: fc.boolean() }),
    async (model, world, { run, keepLast, keepNamed, ...args }) => {
      const pruner = storeOf(world, args.store);
      const said = await outcome(() => model.mustStay(run, keepLast, keepNamed));
      const did = await outcome(() => pruner.prune(run, { keepLast, keepNamed }));
      if ('error' in said || 'error' in did) return sameErrors(said, did);
      if (did.value.emptied === 0) return;
      const emptied: number[] = [];
      for await (const { version, pruned } of pruner.history(run))
        if (pruned && !model.runs.get(run)?.versions[version - 1]?.pruned) emptied.push(version);
      expectSame('the number of emptied checkpoints', emptied.length, did.value.emptied);
      const lost = said.value.filter((version) => emptied.includes(version));
      expectSame('the checkpoints that a prune took against its options', [], lost);
      model.pruned(run, emptied);
    },
  ),
  act('delete', fc.record({ store, run }), async (model, world, args) => {
    const said = await outcome(() => model.delete(args.run));
    sameErrors(said, await outcome(() => storeOf(world, args.store).delete(args.run)));
  }),
  ...often(
    2,
    act('sweep', fc.record({ store }), async (model, world, args) => {
      model.now = model.nextClearMoment();
      world.clock.now = model.now;
      expectSame('what a sweep did', { ...model.sweep(), failed: [] }, await storeOf(world, args.store).sweep());
    }),
  ),
  act('collect', fc.record({ store }), async (_, world, args) => {
    expectSame('what a collection could not do', [], (await storeOf(world, args.store).collect()).failed);
  }),
  act('verify', fc.record({ store, run }), async (model, world, args) => {
    const said = await outcome(() => model.open(args.run));
    const did = await outcome(() => storeOf(world, args.store).verify(args.run));
    if ('error' in said || 'error' in did) return sameErrors(said, did);
    expectSame('the problems of a run', [], did.value.problems);
  }),
  act('list', fc.record({ store }), async (model, world, args) => {
    const found: string[] = [];
    for await (const { run } of storeOf(world, args.store).runs()) found.push(run);
    // In the hour after its end a run may or may not be listed.
    const listed = (grace: number) =>
      [...model.runs.values()]
        .filter((run) => run.deletedUntil === undefined && model.now < endOf(run) + grace)
        .map(({ id }) => id)
        .sort();
    expectSame('the runs in the list', listed(0), found.filter((id) => listed(0).includes(id)).sort());
    expectSame(
      'the runs that are over and in the list',
      [],
      found.filter((id) => !listed(HOUR).includes(id)),
    );
  }),
  ...often(
    3,
    act(
      'pass',
      fc.record({ time: fc.constantFrom(SECOND, MINUTE, 10 * MINUTE, 50 * MINUTE, 3 * HOUR, 25 * HOUR, 2 * DAY) }),
      async (model, world, { time }) => {
        model.now += time;
        world.clock.now = model.now;
      },
    ),
  ),
  // To the last moment of a run, or to the first one after it.
  ...often(
    2,
    act('pass to the end', fc.record({ run, over: fc.boolean() }), async (model, world, { run, over }) => {
      const found = model.runs.get(run);
      const end = found && found.deletedUntil === undefined ? endOf(found) : Number.POSITIVE_INFINITY;
      if (Number.isFinite(end)) model.now = Math.max(model.now, over ? end : end - 1);
      world.clock.now = model.now;
    }),
  ),
  act('restart', fc.record({ store }), async (_, world, args) => {
    restart(world, args.store);
  }),
];

function restart(world: World, place: number): void {
  world.stores[place] = world.reopen(place);
  world.seen[place] = new Map();
}

const seenBy = (world: World, place: number) => world.seen[place] as Map<string, Seen & Pick<Checkpoint, 'hash'>>;

interface ByStore {
  readonly store: number;
  readonly run: string;
}

/** An id for each write that is to have one. */
function withWriteId(world: World, fields: Fields): Fields {
  return fields.writeId === undefined ? fields : { ...fields, writeId: `write ${++world.writeIds}` };
}

function often<T>(times: number, one: T): readonly T[] {
  return Array.from({ length: times }, () => one);
}

function defined(fields: { readonly [F in keyof Fields]: Fields[F] | undefined }): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function liveFields({ toolResults, ...fields }: Fields) {
  return { ...fields, ...(toolResults && { toolResults: live(toolResults) as Record<string, unknown> }) };
}

function liveInput({ state, run, expectedVersion, ...fields }: SaveOf) {
  return { ...liveFields(fields), run, expectedVersion, ...(state !== undefined && { state: live(state) }) };
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

async function outcome<T>(run: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await run() };
  } catch (error) {
    return { error };
  }
}

/** Both give the same checkpoint, or both refuse for the same reason. */
async function same(
  _: Model,
  world: World,
  by: ByStore,
  inModel: () => Version,
  inStore: (store: CheckpointStore) => Promise<Checkpoint>,
): Promise<Checkpoint | undefined> {
  const said = await outcome(inModel);
  const did = await outcome(() => inStore(storeOf(world, by.store)));
  if ('error' in said || 'error' in did) {
    sameErrors(said, did);
    return undefined;
  }
  await sameCheckpoint(said.value, did.value);
  return did.value;
}

/** The same; the caller has then seen that checkpoint of the run. */
const sameAndSeen: typeof same = async (model, world, by, inModel, inStore) => {
  const got = await same(model, world, by, inModel, inStore);
  if (got) seenBy(world, by.store).set(by.run, { of: model.open(by.run), version: got.version, hash: got.hash });
  return got;
};

function sameErrors(said: Outcome<unknown>, did: Outcome<unknown>): void {
  if ('error' in said && !(said.error instanceof Refused)) throw said.error;
  if ('error' in did && !isHoldpointError(did.error)) throw did.error;
  const code = 'error' in did && isHoldpointError(did.error) ? did.error.code : undefined;
  const refused = 'error' in said && said.error instanceof Refused ? said.error : undefined;
  if (code === refused?.code || (code && refused?.or.includes(code))) return;
  throw new Error(`The model says ${refused?.code ?? 'done'}, the store says ${code ?? 'done'}.`, {
    cause: 'error' in did ? did.error : undefined,
  });
}

/** A checkpoint of a store is the model's version in all that a caller sees. */
export async function sameCheckpoint(said: Version, did: Checkpoint): Promise<void> {
  const { shown: _, before: __, undone: ___, writeId, pruned: ____, ...visible } = said;
  expectSame(`checkpoint ${said.version}`, visible, {
    ...{ version: did.version, kind: did.kind, status: did.status, step: did.step, stepNumber: did.stepNumber },
    ...{ name: did.name, labels: did.labels, restored: did.restored, parent: did.parent, time: did.savedAt.getTime() },
    ...{ state: await plainOf(did.state), toolResults: await plainOf(did.toolResults), model: did.model },
  });
  if (writeId !== undefined) expectSame('the write id', writeId, did.writeId);
}

function expectSame(what: string, said: unknown, did: unknown): void {
  if (isDeepStrictEqual(said, did)) return;
  const show = (value: unknown) => JSON.stringify(value)?.slice(0, 2000);
  throw new Error(`The model says of ${what}: ${show(said)}\nThe store says: ${show(did)}`);
}
