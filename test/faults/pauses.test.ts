import { describe, expect, test } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { payload } from '../../lambda/checkpoints/payload.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { clockAt, DAY, HOUR } from './clock.ts';
import { expectSoundRun } from './invariants.ts';
import { noise } from './seeded.ts';
import { withInlineBytes } from './storages.ts';

// A frozen Lambda function or a sleeping laptop: a process that continues much later in the middle of its work.

const RUN = 'run';

interface State {
  readonly seen: unknown;
}

function processes() {
  const clock = clockAt();
  const storage = withInlineBytes(memoryStorage({ clock: clock.read }), 700);
  const open = (on: Storage = storage) => createCheckpointStore<State>(on, { clock: clock.read });
  const startRun = () => open().save({ run: RUN, state: { seen: [payload('seen'), noise('again', 3000)] } });
  return { clock, storage, open, startRun };
}

/** The same storage for a process that pauses once, before it lists the payloads or reads all records of a run. */
function pausing(storage: Storage, before: 'payloads' | 'records', meanwhile: () => Promise<unknown>): Storage {
  let paused = false;
  const pause = async (at: typeof before) => {
    if (at !== before || paused) return;
    paused = true;
    await meanwhile();
  };
  return {
    records: {
      ...storage.records,
      async range(partition, options = {}) {
        if (options.from === undefined) await pause('records');
        return storage.records.range(partition, options);
      },
    },
    payloads: {
      ...storage.payloads,
      async *list(scope) {
        await pause('payloads');
        yield* storage.payloads.list(scope);
      },
    },
  };
}

describe.each(['payloads', 'records'] as const)('a process that pauses before it lists the %s of a run', (before) => {
  test('removes nothing of a run that was started meanwhile when it sweeps and its claim has ended', async () => {
    const { clock, storage, open, startRun } = processes();
    await startRun();
    await open().delete(RUN);
    clock.now += DAY;
    const slow = open(
      pausing(storage, before, async () => {
        clock.now += HOUR;
        expect(await open().sweep()).toMatchObject({ freed: 1, failed: [] });
        await startRun();
      }),
    );
    expect(await slow.sweep()).toEqual({ expired: 0, freed: 0, failed: [] });
    expect(await expectSoundRun(open(), RUN)).toHaveProperty('size', 1);
  });

  test('removes nothing of a run that was started meanwhile when it deletes and pauses for a day', async () => {
    const { clock, storage, open, startRun } = processes();
    await startRun();
    const slow = open(
      pausing(storage, before, async () => {
        clock.now += DAY;
        expect(await open().sweep()).toMatchObject({ freed: 1, failed: [] });
        await startRun();
      }),
    );
    await slow.delete(RUN);
    expect(await expectSoundRun(open(), RUN)).toHaveProperty('size', 1);
  });
});

test('a writer that pauses between its payloads and its checkpoint loses nothing to a collector within a day', async () => {
  const { clock, storage, open, startRun } = processes();
  await startRun();
  const slow = open({
    payloads: storage.payloads,
    records: {
      ...storage.records,
      async commit(writes) {
        clock.now += DAY - 1;
        expect(await open().collect()).toMatchObject({ payloadsRemoved: 0, failed: [] });
        await storage.records.commit(writes);
      },
    },
  });
  await slow.save({ run: RUN, expectedVersion: 1, state: { seen: [payload('new'), noise('new', 3000)] } });
  expect(await expectSoundRun(open(), RUN)).toHaveProperty('size', 2);
});

test('a writer that pauses for days learns that its run was deleted, and restores nothing', async () => {
  const { clock, storage, open, startRun } = processes();
  await startRun();
  const late = open();
  const seen = await late.load(RUN);
  await open().delete(RUN);
  await expect(late.save({ run: RUN, expectedVersion: seen, state: { seen: 1 } })).rejects.toMatchObject({
    code: 'RUN_DELETED',
  });
  clock.now += DAY;
  await open().sweep();
  await expect(late.save({ run: RUN, expectedVersion: seen, state: { seen: 1 } })).rejects.toMatchObject({
    code: 'RUN_NOT_FOUND',
  });
  await startRun();
  await expect(late.save({ run: RUN, expectedVersion: seen, state: { seen: 1 } })).rejects.toMatchObject({
    code: 'STALE_VERSION',
  });
  expect((await storage.records.range('default/run')).records).toHaveLength(2);
  expect(await expectSoundRun(open(), RUN)).toHaveProperty('size', 1);
});
