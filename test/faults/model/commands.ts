import fc from 'fast-check';
import { DAY, HOUR, MINUTE, SECOND } from '../clock.ts';
import { expectSame, expectSameAndRemember, expectSameErrors, expectSameOutcome, outcome } from './comparing.ts';
import {
  change,
  changed,
  choice,
  expected,
  fields,
  inModel,
  lengthOf,
  liveFields,
  liveInput,
  resolveChoice,
  run,
  store,
  withoutUndefined,
  withWriteId,
} from './inputs.ts';
import { expiryOf } from './model.ts';
import { live } from './values.ts';
import { type Command, command, repeat, restart, seenBy, storeOf } from './world.ts';

/** All operations, some of them more often. */
export const commands: readonly fc.Arbitrary<Command>[] = [
  ...repeat(
    5,
    command(
      'save',
      fc.record({ store, run, expected, step: fc.option(change), fields }),
      async (model, world, args) => {
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
        await expectSameAndRemember(
          model,
          world,
          args,
          () => model.save(input, args.expected === 'seen' ? seen : undefined),
          (store) =>
            store.save({ ...liveInput(input), ...(seen && args.expected === 'seen' && { expectedVersion: seen }) }),
        );
      },
    ),
  ),
  command('save again', fc.record({ store, run }), async (model, world, args) => {
    const input = world.saves.get(args.run);
    if (!input) return;
    await expectSameAndRemember(
      model,
      world,
      args,
      () => model.save(input),
      (store) => store.save(liveInput(input)),
    );
  }),
  // By a new process that finds its own write as the newest, and expects it.
  command('save again after a restart', fc.record({ store, run }), async (model, world, args) => {
    const input = world.saves.get(args.run);
    const newest = model.runs.get(args.run)?.versions.at(-1);
    if (!input || !newest || newest.writeId !== input.writeId) return;
    restart(world, args.store);
    const again = { ...input, expectedVersion: newest.version };
    await expectSameAndRemember(
      model,
      world,
      args,
      () => model.save(again),
      (store) => store.save(liveInput(again)),
    );
  }),
  ...repeat(
    2,
    command('update', fc.record({ store, run, step: change, fields }), async (model, world, args) => {
      const { writeId: _, ...given } = args.fields;
      await expectSameAndRemember(
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
    command('load', fc.record({ store, run, chosen: fc.option(choice) }), async (model, world, args) => {
      const at = args.chosen ? resolveChoice(model, args.run, args.chosen) : undefined;
      const compare = at ? expectSameOutcome : expectSameAndRemember;
      await compare(
        model,
        world,
        args,
        () => model.load(args.run, at),
        (store) => store.load(args.run, at),
      );
    }),
  ),
  // Another store saves a loaded state, including its payloads, in another run.
  command(
    'copy the state to another run',
    fc.record({ store, other: store, run, to: run, chosen: choice }),
    async (model, world, args) => {
      const at = resolveChoice(model, args.run, args.chosen);
      const source = await outcome(() => model.load(args.run, at));
      const loaded = await outcome(() => storeOf(world, args.store).load(args.run, at));
      if ('error' in source || 'error' in loaded) return;
      const target = { run: args.to, expectedVersion: lengthOf(model, args.to) };
      const { state } = source.value;
      await expectSameAndRemember(
        model,
        world,
        { store: args.other, run: args.to },
        () => model.save({ ...target, ...(state !== undefined && { state }) }),
        (other) => other.save({ ...target, ...(state !== undefined && { state: loaded.value.state }) }),
      );
    },
  ),
  command(
    'fork',
    fc.record({
      store,
      run,
      to: run,
      chosen: choice,
      step: change,
      fields: fields.map(({ status, writeId }) => withoutUndefined({ status, writeId })),
    }),
    async (model, world, { run, to, chosen, store, step, ...args }) => {
      const at = resolveChoice(model, run, chosen);
      const given = withWriteId(world, args.fields);
      const edit = (state: unknown) => changed(state, step, live);
      const fork = () =>
        expectSameAndRemember(
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
  command('rewind', fc.record({ store, run, chosen: choice }), async (model, world, args) => {
    const at = resolveChoice(model, args.run, args.chosen);
    await expectSameAndRemember(
      model,
      world,
      args,
      () => model.rewind(args.run, at),
      (store) => store.rewind(args.run, at),
    );
  }),
  command('undo', fc.record({ store, run }), async (model, world, args) =>
    expectSameAndRemember(
      model,
      world,
      args,
      () => model.undo(args.run),
      (store) => store.undo(args.run),
    ),
  ),
  command('redo', fc.record({ store, run }), async (model, world, args) =>
    expectSameAndRemember(
      model,
      world,
      args,
      () => model.redo(args.run),
      (store) => store.redo(args.run),
    ),
  ),
  command(
    'undo and redo',
    fc.record({ store, run, operations: fc.array(fc.constantFrom('undo', 'redo'), { minLength: 3, maxLength: 7 }) }),
    async (model, world, { operations, ...by }) => {
      for (const operation of operations as readonly ('undo' | 'redo')[])
        await expectSameAndRemember(
          model,
          world,
          by,
          () => model[operation](by.run),
          (store) => store[operation](by.run),
        );
    },
  ),
  command(
    'prune',
    fc.record({ store, run, keepLast: fc.integer({ min: 1, max: 4 }), keepNamed: fc.boolean() }),
    async (model, world, { run, keepLast, keepNamed, ...args }) => {
      const pruner = storeOf(world, args.store);
      const expectedOutcome = await outcome(() => model.versionsToKeep(run, keepLast, keepNamed));
      const actualOutcome = await outcome(() => pruner.prune(run, { keepLast, keepNamed }));
      if ('error' in expectedOutcome || 'error' in actualOutcome)
        return expectSameErrors(expectedOutcome, actualOutcome);
      if (actualOutcome.value.emptied === 0) return;
      const emptied: number[] = [];
      for await (const { version, pruned } of pruner.history(run))
        if (pruned && !model.runs.get(run)?.versions[version - 1]?.pruned) emptied.push(version);
      expectSame('the number of emptied checkpoints', emptied.length, actualOutcome.value.emptied);
      const lost = expectedOutcome.value.filter((version) => emptied.includes(version));
      expectSame('the checkpoints that a prune should have kept', [], lost);
      model.pruned(run, emptied);
    },
  ),
  command('delete', fc.record({ store, run }), async (model, world, args) => {
    const expectedOutcome = await outcome(() => model.delete(args.run));
    expectSameErrors(expectedOutcome, await outcome(() => storeOf(world, args.store).delete(args.run)));
  }),
  ...repeat(
    2,
    command('sweep', fc.record({ store }), async (model, world, args) => {
      model.now = model.nextUnambiguousTime();
      world.clock.now = model.now;
      expectSame('the result of a sweep', { ...model.sweep(), failed: [] }, await storeOf(world, args.store).sweep());
    }),
  ),
  command('collect', fc.record({ store }), async (_, world, args) => {
    expectSame('the failures of a collection', [], (await storeOf(world, args.store).collect()).failed);
  }),
  command('verify', fc.record({ store, run }), async (model, world, args) => {
    const expectedOutcome = await outcome(() => model.open(args.run));
    const actualOutcome = await outcome(() => storeOf(world, args.store).verify(args.run));
    if ('error' in expectedOutcome || 'error' in actualOutcome) return expectSameErrors(expectedOutcome, actualOutcome);
    expectSame('the problems of a run', [], actualOutcome.value.problems);
  }),
  command('list', fc.record({ store }), async (model, world, args) => {
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
      'the ended runs in the list',
      [],
      found.filter((id) => !listed(HOUR).includes(id)),
    );
  }),
  ...repeat(
    3,
    command(
      'advance the clock',
      fc.record({ time: fc.constantFrom(SECOND, MINUTE, 10 * MINUTE, 50 * MINUTE, 3 * HOUR, 25 * HOUR, 2 * DAY) }),
      async (model, world, { time }) => {
        model.now += time;
        world.clock.now = model.now;
      },
    ),
  ),
  // To the last millisecond of a run, or to the one at which it expires.
  ...repeat(
    2,
    command(
      'advance to the expiry',
      fc.record({ run, isExpired: fc.boolean() }),
      async (model, world, { run, isExpired }) => {
        const found = model.runs.get(run);
        const end = found && found.deletedUntil === undefined ? expiryOf(found) : Number.POSITIVE_INFINITY;
        if (Number.isFinite(end)) model.now = Math.max(model.now, isExpired ? end : end - 1);
        world.clock.now = model.now;
      },
    ),
  ),
  command('restart', fc.record({ store }), async (_, world, args) => {
    restart(world, args.store);
  }),
];
