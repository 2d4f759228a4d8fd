import fc from 'fast-check';
import { DAY, HOUR, MINUTE, SECOND } from '../clock.ts';
import { expectSame, outcome, same, sameAndSeen, sameErrors } from './comparing.ts';
import {
  change,
  changed,
  defined,
  expected,
  fields,
  inModel,
  lengthOf,
  liveFields,
  liveInput,
  run,
  store,
  which,
  whichOf,
  withWriteId,
} from './inputs.ts';
import { expiryOf } from './model.ts';
import { live } from './values.ts';
import { act, type Command, repeat, restart, seenBy, storeOf } from './world.ts';

/** Everything that can be done, some of it more often. */
export const commands: readonly fc.Arbitrary<Command>[] = [
  ...repeat(
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
  ...repeat(
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
  ...repeat(
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
    'undo and redo',
    fc.record({ store, run, turns: fc.array(fc.constantFrom('undo', 'redo'), { minLength: 3, maxLength: 7 }) }),
    async (model, world, { turns, ...by }) => {
      for (const turn of turns as readonly ('undo' | 'redo')[])
        await sameAndSeen(
          model,
          world,
          by,
          () => model[turn](by.run),
          (store) => store[turn](by.run),
        );
    },
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
  ...repeat(
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
        .filter((run) => run.deletedUntil === undefined && model.now < expiryOf(run) + grace)
        .map(({ id }) => id)
        .sort();
    expectSame('the runs in the list', listed(0), found.filter((id) => listed(0).includes(id)).sort());
    expectSame(
      'the runs that are over and in the list',
      [],
      found.filter((id) => !listed(HOUR).includes(id)),
    );
  }),
  ...repeat(
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
  ...repeat(
    2,
    act('pass to the end', fc.record({ run, over: fc.boolean() }), async (model, world, { run, over }) => {
      const found = model.runs.get(run);
      const end = found && found.deletedUntil === undefined ? expiryOf(found) : Number.POSITIVE_INFINITY;
      if (Number.isFinite(end)) model.now = Math.max(model.now, over ? end : end - 1);
      world.clock.now = model.now;
    }),
  ),
  act('restart', fc.record({ store }), async (_, world, args) => {
    restart(world, args.store);
  }),
];
