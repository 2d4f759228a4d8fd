import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type CheckpointStore, createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import type { SaveFields } from '../../lambda/checkpoints/fields/save-fields.ts';
import { payload } from '../../lambda/checkpoints/payload.ts';
import { isWaitstateError } from '../../lambda/core/errors.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { awsStorage } from '../engines/engines.ts';
import { smallDisk } from '../storage/embedded/small-disk.ts';
import { clockAt, DAY, HOUR, MINUTE } from './clock.ts';
import { type Fault, failingStorage } from './failing-storage.ts';
import { expectNoOrphans, expectSoundRun, payloadIdsOf, recordsOf } from './invariants.ts';
import { noise, randomFrom } from './seeded.ts';
import { withInlineBytes } from './storages.ts';

const RUN = 'run';
const MEGABYTE = 1 << 20;

/** The id of a run that only this test run uses, even on a table that outlives it. */
const uniqueId = (run: string): string => `${inject('testRun')} ${run}`;

let folder: string;
let storages: Record<'memory' | 'embedded' | 'aws', Storage>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waitstate-hostile-'));
  storages = { memory: memoryStorage(), embedded: embeddedStorage({ folder }), aws: await awsStorage() };
});
afterAll(async () => {
  await storages.embedded.records.close();
  await rm(folder, { recursive: true });
});

describe.each(['memory', 'embedded', 'aws'] as const)('a checkpoint store on %s', (kind) => {
  test.each([
    ['undefined', undefined],
    ['an empty text', ''],
    ['an empty object', {}],
    ['an empty list', []],
    ['null', null],
    ['an empty byte array', new Uint8Array()],
    ['an empty payload', { seen: payload('') }],
  ])('round-trips a state that is %s', async (what, state) => {
    const run = uniqueId(`empty ${what}`);
    await createCheckpointStore(storages[kind]).save({ run, state });
    const { state: loaded } = await createCheckpointStore<typeof state>(storages[kind]).load(run);
    if (what === 'an empty payload')
      expect(await (loaded as { seen: ReturnType<typeof payload> }).seen.text()).toBe('');
    else expect(loaded).toEqual(state);
    expect((await createCheckpointStore(storages[kind]).verify(run)).problems).toEqual([]);
  });

  test('starts a run without a state', async () => {
    const store = createCheckpointStore(storages[kind]);
    await store.save({ run: uniqueId('no state') });
    expect(await store.load(uniqueId('no state'))).toMatchObject({ version: 1, state: undefined, toolResults: {} });
  });

  test('rejects a state of depth 10,000 with its path, and writes nothing', async () => {
    let deep: unknown = 'bottom';
    for (let level = 0; level < 10_000; level++) deep = { in: deep };
    const store = createCheckpointStore(storages[kind]);
    const rejection = { code: 'UNSUPPORTED_VALUE', message: expect.stringMatching(/^state\.in\.in/) };
    await expect(store.save({ run: uniqueId('deep'), state: deep })).rejects.toMatchObject(rejection);
    await expect(store.load(uniqueId('deep'))).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await payloadIdsOf(storages[kind], uniqueId('deep'))).toEqual([]);
    await store.save({ run: uniqueId('deep'), state: {} });
    await expect(store.update(uniqueId('deep'), () => deep)).rejects.toMatchObject(rejection);
    await expect(
      store.save({ run: uniqueId('deep'), expectedVersion: 1, toolResults: { call: deep } }),
    ).rejects.toMatchObject({
      code: 'UNSUPPORTED_VALUE',
    });
    expect(await store.save({ run: uniqueId('deep'), expectedVersion: 1, state: { still: 'works' } })).toMatchObject({
      version: 2,
    });
  });

  const long = 'x'.repeat(600_000);
  test.each<[string, SaveFields]>([
    ['name', { name: long }],
    ['step', { step: long }],
    ['write id', { writeId: long }],
    ['agent', { agent: long }],
    ['owner', { owner: long }],
    ['label', { labels: { label: long } }],
    ['label name', { labels: { [long]: 'label' } }],
    ['tag', { tags: [long] }],
  ])('rejects a huge %s, and the run continues unaffected', async (what, fields) => {
    const run = uniqueId(`huge ${what}`);
    const store = createCheckpointStore(storages[kind]);
    await expect(errorCodeOf(store.save({ run, state: 0, ...fields }))).resolves.toMatch(
      /INVALID_INPUT|RECORD_TOO_LARGE/,
    );
    await expect(store.load(run)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await store.save({ run, state: 1 });
    await expect(errorCodeOf(store.save({ run, expectedVersion: 1, state: 2, ...fields }))).resolves.toMatch(
      /INVALID_INPUT|RECORD_TOO_LARGE/,
    );
    await expect(errorCodeOf(store.update(run, () => 3, fields))).resolves.toMatch(/INVALID_INPUT|RECORD_TOO_LARGE/);
    expect(await store.save({ run, expectedVersion: 1, state: 4 })).toMatchObject({ version: 2, state: 4 });
    expect((await store.verify(run)).problems).toEqual([]);
  });
});

const errorCodeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'SUCCEEDED',
    (error) => (isWaitstateError(error) ? error.code : String(error)),
  );

describe('a payload that is larger than memory', () => {
  const MEGABYTES = Number(process.env.STREAMED_MEGABYTES ?? 256);

  test.each(['unencrypted', 'encrypted'])('is streamed in both directions when it is %s', async (encryption) => {
    const child = fileURLToPath(new URL('./child-streaming.ts', import.meta.url));
    const into = join(folder, `streamed ${encryption}`);
    const args = ['--max-old-space-size=64', child, into, String(MEGABYTES), encryption];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const { bytes, same, grown } = JSON.parse(stdout);
    expect({ bytes, same }).toEqual({ bytes: MEGABYTES * MEGABYTE, same: true });
    // Far below its size: memory holds only some chunks, and those that wait to be freed.
    expect(grown).toBeLessThan(Math.max(192, MEGABYTES / 2) * MEGABYTE);
    await rm(into, { recursive: true });
  });
});

interface Log {
  readonly log: readonly unknown[];
}

/** Stores on one storage in memory; `store` meets faults. */
function faulty(next: () => Fault, code: 'STORAGE_UNAVAILABLE' | 'STORAGE_FULL' = 'STORAGE_UNAVAILABLE') {
  const clock = clockAt();
  const storage = withInlineBytes(memoryStorage({ clock: clock.read }), 700);
  const open = (on = storage) => createCheckpointStore<Log>(on, { clock: clock.read });
  return { clock, storage, open, store: open(failingStorage(storage, next, code)) };
}

async function createRun(store: CheckpointStore<Log>): Promise<void> {
  await store.save({ run: RUN, state: { log: [noise('large', 5000), payload(noise('page', 900))] } });
  await store.update(RUN, ({ log }) => ({ log: [...log, 'small'] }), { name: 'second' });
  await store.save({ run: RUN, expectedVersion: 2, state: { log: [noise('another', 6000)] } });
}

describe('a disk that fills up', () => {
  test('loses nothing, and the run continues when there is space again', async () => {
    let full = false;
    const { store, open, storage, clock } = faulty(() => (full ? 'fails' : undefined), 'STORAGE_FULL');
    await createRun(store);
    const before = await expectSoundRun(open(), RUN);
    full = true;
    const attempts = [
      () => store.save({ run: RUN, expectedVersion: 3, state: { log: ['lost'] } }),
      () => store.save({ run: RUN, expectedVersion: 3, state: { log: [noise('lost', 9000), payload('lost')] } }),
      () => store.update(RUN, () => ({ log: [] }), { status: 'FAILED' }),
      () => store.fork(RUN, { version: 1 }),
      () => store.rewind(RUN, 1),
      () => store.prune(RUN, { keepLast: 1, keepNamed: false }),
      () => store.delete(RUN),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(await expectSoundRun(open(), RUN)).toEqual(before);
    full = false;
    expect(await store.save({ run: RUN, expectedVersion: 3, state: { log: ['there'] } })).toMatchObject({ version: 4 });
    expect(await expectSoundRun(open(), RUN)).toHaveProperty('size', 4);
    clock.now += 2 * DAY;
    await store.collect();
    await expectNoOrphans(storage, RUN);
  });

  test('keeps every confirmed version on a real disk', async ({ skip }) => {
    const disk = smallDisk();
    if (!disk) return skip('this process may not mount a disk');
    try {
      const filler = join(disk.folder, 'filler');
      await writeFile(filler, new Uint8Array(MEGABYTE));
      const storage = withInlineBytes(embeddedStorage({ folder: join(disk.folder, 'storage') }), 700);
      const open = () => createCheckpointStore<Log>(storage);
      const store = open();
      let confirmed = 0;
      const fill = async () => {
        for (;;) {
          const log = [noise(confirmed, 5000), payload(noise(`p${confirmed}`, 5000))];
          await store.save({ run: RUN, expectedVersion: confirmed, state: { log } });
          confirmed++;
        }
      };
      await expect(fill()).rejects.toMatchObject({ code: 'STORAGE_FULL' });
      expect(confirmed).toBeGreaterThan(5);
      expect(await expectSoundRun(open(), RUN)).toHaveProperty('size', confirmed);
      await rm(filler);
      expect(await store.update(RUN, ({ log }) => ({ log: [...log, 'more'] }))).toMatchObject({
        version: confirmed + 1,
      });
      expect(await expectSoundRun(open(), RUN)).toHaveProperty('size', confirmed + 1);
      await storage.records.close();
    } finally {
      disk.remove();
    }
  });
});

describe('a lost response', () => {
  const operations: readonly [string, number, (store: CheckpointStore<Log>) => Promise<unknown>][] = [
    ['a save', 4, (store) => store.save({ run: RUN, expectedVersion: 3, state: { log: ['x'] }, writeId: 'w' })],
    [
      'a save with payloads and a name',
      4,
      (store) =>
        store.save({
          ...{ run: RUN, expectedVersion: 3, writeId: 'w', name: 'here', status: 'SUCCEEDED' },
          state: { log: [noise('x', 4000), payload('y')] },
        }),
    ],
    ['an update', 4, (store) => store.update(RUN, ({ log }) => ({ log: [...log, payload('x')] }), { writeId: 'w' })],
    ['a fork', 3, (store) => store.fork(RUN, { id: 'fork', version: 1, writeId: 'w' })],
  ];

  test.each(operations)('does not apply %s twice, whichever response is lost', async (_, versions, run) => {
    for (let lost = 1; ; lost++) {
      let calls = Number.NEGATIVE_INFINITY;
      const { store, open, storage, clock } = faulty(() => (++calls === lost ? 'response lost' : undefined));
      await createRun(store);
      calls = 0;
      const first = await errorCodeOf(run(store));
      if (first === 'SUCCEEDED') {
        expect(lost).toBeGreaterThan(1);
        return;
      }
      expect(first).toBe('STORAGE_UNAVAILABLE');
      // The same process tries again, and later another.
      await run(store);
      await run(open());
      expect(await expectSoundRun(open(), RUN)).toHaveProperty('size', versions);
      if (versions === 3) expect(await expectSoundRun(open(), 'fork')).toHaveProperty('size', 1);
      clock.now += 2 * DAY;
      await open().collect();
      await expectNoOrphans(storage, RUN);
      await expectNoOrphans(storage, 'fork');
    }
  });

  test('turns a first save without a write id into a conflict that shows the stored checkpoint', async () => {
    let calls = 0;
    const { store, open } = faulty(() => (++calls === 1 ? 'response lost' : undefined));
    await expect(store.save({ run: RUN, state: { log: ['mine'] } })).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    });
    await expect(store.save({ run: RUN, state: { log: ['mine'] } })).rejects.toMatchObject({
      code: 'STALE_VERSION',
      found: { version: 1 },
    });
    expect((await open().load(RUN)).state).toEqual({ log: ['mine'] });
  });

  test.each<[string, (store: CheckpointStore<Log>) => Promise<unknown>, string | number]>([
    ['a deletion', (store) => store.delete(RUN), 'RUN_DELETED'],
    ['a prune', (store) => store.prune(RUN, { keepLast: 1, keepNamed: false }), 4],
    ['a rewind', (store) => store.rewind(RUN, 1), 5],
  ])('can be followed by a retry of %s', async (_, run, end) => {
    for (let lost = 1; ; lost++) {
      let calls = Number.NEGATIVE_INFINITY;
      const { store, open, storage, clock } = faulty(() => (++calls === lost ? 'response lost' : undefined));
      await createRun(store);
      calls = 0;
      if ((await errorCodeOf(run(store))) === 'SUCCEEDED') return;
      await run(store);
      const sound = await expectSoundRun(open(), RUN);
      if (typeof end === 'string') expect(sound).toBe(end);
      else expect(sound).toHaveProperty('size', expect.any(Number));
      clock.now += 2 * DAY;
      await open().collect();
      await expectNoOrphans(storage, RUN);
    }
  });
});

describe('writers whose clocks differ', () => {
  function writers() {
    const clock = clockAt();
    const storage = withInlineBytes(memoryStorage({ clock: clock.read }), 700);
    const open = (skew = () => 0) => createCheckpointStore<Log>(storage, { clock: () => clock.now + skew() });
    return { clock, storage, open };
  }

  test('lose nothing, no matter how the clocks jump', async () => {
    const { clock, open } = writers();
    const random = randomFrom(11);
    const jump = () => Math.floor((random() - 0.5) * 4 * DAY);
    const stores = [open(), open(jump), open(jump)];
    await open().save({ run: RUN, state: { log: [] } });
    for (let turn = 0; turn < 60; turn++) {
      clock.now += Math.floor(random() * HOUR);
      await stores[turn % 3]?.update(RUN, ({ log }) => ({ log: [...log, turn] }), turn % 7 === 0 ? { step: 's' } : {});
    }
    const { state, version } = await open().load(RUN);
    expect(version).toBe(61);
    expect(state.log).toEqual(Array.from({ length: 60 }, (_, turn) => turn));
    expect(await expectSoundRun(open(), RUN)).toHaveProperty('size', 61);
  });

  test.each([30 * MINUTE, 59 * MINUTE, 2 * HOUR, 3 * DAY])(
    'do not expire a run early when one clock is %i ms behind',
    async (behind) => {
      const { clock, open } = writers();
      const right = open();
      const slow = open(() => -behind);
      await right.save({ run: RUN, state: { log: [] }, retention: { hours: 5 } });
      clock.now += 59 * MINUTE;
      await right.update(RUN, ({ log }) => ({ log: [...log, 'right'] }));
      const end = clock.now + 5 * HOUR;
      await slow.update(RUN, ({ log }) => ({ log: [...log, 'slow'] }));
      clock.now = end - 1;
      expect(await open().sweep()).toMatchObject({ expired: 0, failed: [] });
      expect((await open().load(RUN)).state.log).toEqual(['right', 'slow']);
    },
  );

  test('do not free the id of a deleted run early', async () => {
    const { clock, open } = writers();
    const late = open();
    await late.save({ run: RUN, state: { log: [] } });
    await open(() => -3 * DAY).delete(RUN);
    expect(await open().sweep()).toMatchObject({ freed: 0 });
    const save = late.save({ run: RUN, expectedVersion: 1, state: { log: ['late'] } });
    await expect(save).rejects.toMatchObject({ code: 'RUN_DELETED' });
    clock.now += DAY;
    expect(await open().sweep()).toMatchObject({ freed: 1, failed: [] });
  });

  test('keep the payloads of a save in progress: the collector uses the clock of the storage, not of the writer', async () => {
    const { storage, open } = writers();
    const slow = open(() => -3 * DAY);
    await slow.save({ run: RUN, state: { log: [] } });
    const seen = payload(noise('seen', 3000));
    await expect(slow.save({ run: RUN, expectedVersion: 9, state: { log: [seen] } })).rejects.toThrow();
    await open().collect();
    await slow.save({ run: RUN, expectedVersion: 1, state: { log: [seen] } });
    expect(await expectSoundRun(open(), RUN)).toHaveProperty('size', 2);
    expect((await recordsOf(storage, RUN)).length).toBe(3);
  });
});
