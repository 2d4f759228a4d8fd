import { describe, expect, test, vi } from 'vitest';
import type { CheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { payload } from '../../lambda/checkpoints/payload.ts';
import { DAY, HOUR } from './clock.ts';
import { Crash, crashingStorage } from './crashing-storage.ts';
import { contentOf, expectNoOrphans, expectSoundRun, payloadIdsOf, recordsOf } from './invariants.ts';
import { FORK, RUN, type Scene, type State, sceneOf } from './scene.ts';
import { noise, seedIds } from './seeded.ts';

vi.mock('node:crypto', async (original) => ({
  ...(await original<typeof import('node:crypto')>()),
  randomBytes: (await import('./seeded.ts')).seededBytes,
}));

/** One operation: its preparation, the operation itself, and the expected result. */
interface Operation {
  readonly name: string;
  prepare(scene: Scene): Promise<unknown>;
  run(store: CheckpointStore<State>, scene: Scene): Promise<unknown>;
  /** Checks the result after another process repeated the operation and completed it. */
  expectDone(store: CheckpointStore<State>, scene: Scene): Promise<void>;
  readonly onlyEncrypted?: true;
  /** The operation removes confirmed checkpoints, so they may be missing afterwards. */
  readonly removes?: true;
  /** How long after a crash the operation is retried. @default immediately */
  readonly retryAfter?: number;
}

const LARGE = noise('large', 6000);
const entry = (index: number, length = 40): string => `${index} ${noise(index, length)}`;

/** A run with a snapshot in a segment, patches in records, payloads that are added and removed, and a name. */
async function createRun({ open }: Scene): Promise<void> {
  const store = open();
  const page = payload(noise('page', 3000));
  await store.save({ run: RUN, state: { log: [LARGE], seen: page }, step: 'first', name: 'begin' });
  await store.update(RUN, ({ seen, log }) => ({ seen, log: [...log, entry(1)] }), { step: 'small' });
  await store.update(RUN, ({ log }) => ({ log: [...log, entry(2, 1200)] }), { step: 'segment', name: 'middle' });
  await store.save({
    run: RUN,
    expectedVersion: 3,
    toolResults: { call: payload(noise('result', 900)) },
    step: 'result',
  });
  await store.update(RUN, ({ log }) => ({ log: [...log, entry(3)] }), { step: 'small again' });
}

const expectNewest = async (store: CheckpointStore<State>, version: number, check: object) =>
  expect(await store.load(RUN)).toMatchObject({ version, ...check });

const saveOperation = (name: string, input: (state: State) => object, check: object): Operation => ({
  name,
  prepare: createRun,
  async run(store) {
    const { state } = await store.load(RUN, 5);
    return store.save({ run: RUN, expectedVersion: 5, writeId: 'mine', ...input(state) });
  },
  expectDone: (store) => expectNewest(store, 6, { writeId: 'mine', ...check }),
});

const OPERATIONS: readonly Operation[] = [
  {
    name: 'the first save of a run',
    prepare: async () => {},
    run: (store) =>
      store.save({
        ...{ run: RUN, expectedVersion: 0, writeId: 'mine', name: 'begin' },
        state: { log: [LARGE], seen: payload(noise('page', 3000)) },
      }),
    expectDone: (store) => expectNewest(store, 1, { writeId: 'mine', name: 'begin' }),
  },
  saveOperation('a small save', ({ log }) => ({ state: { log: [...log, 'x'] } }), {}),
  saveOperation(
    'a large save, which stores a segment',
    ({ log }) => ({ state: { log: [...log, entry(7, 1500)] } }),
    {},
  ),
  saveOperation('a save of a new snapshot', () => ({ state: { log: [noise('other', 9000)] } }), {}),
  saveOperation(
    'a save with payloads',
    ({ log }) => ({ state: { log, seen: [payload(noise('p', 99)), payload(LARGE)] } }),
    {},
  ),
  saveOperation('a save with a name', () => ({ name: 'here' }), { name: 'here' }),
  saveOperation('a save that moves a name', () => ({ name: 'middle', moveName: true }), { name: 'middle' }),
  saveOperation('a change of status', () => ({ status: 'SUCCEEDED' }), { status: 'SUCCEEDED' }),
  {
    name: 'a save that folds patches into a segment',
    async prepare(scene) {
      await createRun(scene);
      for (const index of [10, 11, 12])
        await scene.open().update(RUN, ({ log }) => ({ log: [...log, entry(index, 800)] }));
    },
    async run(store) {
      const { state } = await store.load(RUN, 8);
      const log = [...state.log, entry(13, 900)];
      return store.save({ run: RUN, expectedVersion: 8, writeId: 'mine', state: { log } });
    },
    expectDone: (store) => expectNewest(store, 9, { writeId: 'mine' }),
  },
  {
    name: 'an update',
    prepare: createRun,
    run: (store) => store.update(RUN, ({ log }) => ({ log: [...log, 'x'] }), { writeId: 'mine' }),
    expectDone: (store) => expectNewest(store, 6, { writeId: 'mine' }),
  },
  {
    name: 'a fork with payloads',
    prepare: createRun,
    run: (store) => store.fork(RUN, { id: FORK, version: 2, writeId: 'mine' }),
    async expectDone(store) {
      const [fork, source] = [await store.load(FORK), await store.load(RUN, 2)];
      expect(await contentOf({ ...fork, version: 2, kind: 'save' })).toEqual(await contentOf(source));
      expect(fork).toMatchObject({ version: 1, kind: 'fork', parent: { run: RUN, version: 2 } });
    },
  },
  {
    name: 'a rewind to a checkpoint with payloads',
    prepare: createRun,
    run: (store) => store.rewind(RUN, 1),
    async expectDone(store) {
      const { kind, restored, state } = await store.load(RUN);
      expect({ kind, restored, log: state.log }).toEqual({ kind: 'rewind', restored: 1, log: [LARGE] });
    },
  },
  {
    name: 'a prune',
    async prepare(scene) {
      await createRun(scene);
      await scene.open().save({ run: RUN, expectedVersion: 5, state: { log: [noise('other', 9000)] } });
    },
    run: (store) => store.prune(RUN, { keepLast: 1, keepNamed: false }),
    async expectDone(store) {
      const pruned: number[] = [];
      for await (const found of store.history(RUN)) if (found.pruned) pruned.push(found.version);
      expect(pruned).toEqual([1, 2, 3, 4, 5]);
      // The names were removed with their checkpoints, and can be used again.
      const named = await store.save({ run: RUN, expectedVersion: await store.load(RUN), name: 'begin' });
      await store.save({ run: RUN, expectedVersion: named, name: 'middle' });
    },
    removes: true,
  },
  {
    name: 'a deletion',
    prepare: createRun,
    run: (store) => store.delete(RUN),
    async expectDone(store, { storage }) {
      await expect(store.load(RUN)).rejects.toMatchObject({ code: 'RUN_DELETED' });
      expect(await payloadIdsOf(storage, RUN)).toEqual([]);
      // The records that stay for a day contain nothing of the content of the run.
      const left = await recordsOf(storage, RUN);
      expect(left.filter(({ body, key }) => body || key.startsWith('n'))).toEqual([]);
      expect(left.filter(({ meta }) => /first|small|segment|result|begin|middle/.test(meta))).toEqual([]);
    },
    removes: true,
  },
  {
    name: 'a sweep of an expired run',
    async prepare(scene) {
      await createRun(scene);
      await scene.open().save({ run: RUN, expectedVersion: 5, retention: { minutes: 1 } });
      scene.clock.now += 2 * HOUR;
    },
    run: (store) => store.sweep(),
    async expectDone(store) {
      await expect(store.load(RUN)).rejects.toMatchObject({ code: 'RUN_DELETED' });
    },
    removes: true,
  },
  {
    name: 'a sweep that frees an id',
    async prepare(scene) {
      await createRun(scene);
      // Like a deletion that died immediately: all records still exist behind the tombstone.
      const dying = scene.open(crashingStorage(scene.storage, { call: 1, when: 'after' }));
      await expect(dying.delete(RUN)).rejects.toThrow(Crash);
      scene.clock.now += DAY;
    },
    run: (store) => store.sweep(),
    retryAfter: HOUR,
    async expectDone(store, { storage }) {
      expect(await recordsOf(storage, RUN)).toEqual([]);
      expect(await payloadIdsOf(storage, RUN)).toEqual([]);
      expect((await store.save({ run: RUN, expectedVersion: 0, state: { log: [] } })).version).toBe(1);
    },
    removes: true,
  },
  {
    name: 'a collection of orphaned payloads',
    async prepare(scene) {
      await createRun(scene);
      for (const call of [1, 2]) {
        const dying = scene.open(crashingStorage(scene.storage, { call, when: 'after' }));
        const state = { log: [], seen: [payload(LARGE), payload(noise('p', 99))] };
        await expect(dying.save({ run: RUN, expectedVersion: 5, state })).rejects.toThrow(Crash);
      }
      scene.clock.now += DAY + 1;
    },
    run: (store) => store.collect(),
    expectDone: (_, { storage }) => expectNoOrphans(storage, RUN),
  },
  {
    name: 'a rotation of its key',
    onlyEncrypted: true,
    prepare: createRun,
    run: (_, scene) => scene.open(undefined, 'new').rotateKey(RUN),
    expectDone: (store) => expectNewest(store, 5, {}),
  },
  {
    name: 'the destruction of its key',
    onlyEncrypted: true,
    prepare: createRun,
    run: (store) => store.shred(RUN),
    async expectDone(store) {
      await expect(store.load(RUN)).rejects.toMatchObject({ code: 'RUN_SHREDDED' });
      expect((await store.verify(RUN)).problems).toEqual([]);
    },
    removes: true,
  },
];

/** Runs an operation that dies at a call; returns false when it completed before that call. */
async function crash(
  operation: Operation,
  encrypted: boolean,
  call: number,
  when: 'before' | 'after',
): Promise<boolean> {
  seedIds(0);
  const scene = sceneOf(encrypted);
  const { storage, clock, open } = scene;
  await operation.prepare(scene);
  const before = await expectSoundRun(open(), RUN);
  const dying = crashingStorage(storage, { call, when });
  const died = await operation.run(open(dying), { ...scene, open: (_, key) => open(dying, key) }).then(
    () => false,
    (error) => {
      if (error instanceof Crash) return true;
      throw error;
    },
  );
  // A sweep or a collection reports failures and continues.
  const crashed = died || dying.calls() >= call;

  const after = await expectSoundRun(open(), RUN);
  await expectSoundRun(open(), FORK);
  if (!operation.removes) expectAllOf(before, after);

  clock.now += operation.retryAfter ?? 0;
  await operation.run(open(), scene);
  await operation.expectDone(open(), scene);
  const repeated = await expectSoundRun(open(), RUN);
  if (!operation.removes) expectAllOf(before, repeated);

  clock.now += 2 * DAY;
  expect((await open().collect()).failed).toEqual([]);
  await expectNoOrphans(storage, RUN);
  await expectNoOrphans(storage, FORK);
  expect(await expectSoundRun(open(), RUN)).toEqual(repeated);
  await expectSoundRun(open(), FORK);
  return crashed;
}

/** Every checkpoint that could be loaded before can still be loaded, and is the same. */
function expectAllOf(
  before: Awaited<ReturnType<typeof expectSoundRun>>,
  after: Awaited<ReturnType<typeof expectSoundRun>>,
): void {
  if (typeof before === 'string') return;
  if (typeof after === 'string') throw new Error(`All confirmed checkpoints are lost: ${after}.`);
  for (const [version, content] of before) expect(after.get(version)).toEqual(content);
}

describe.each([
  ['unencrypted', false],
  ['encrypted', true],
] as const)('a process that dies at any call to an %s storage', (_, encrypted) => {
  const operations = OPERATIONS.filter(({ onlyEncrypted }) => encrypted || !onlyEncrypted);

  test.each(operations.map((operation) => [operation.name, operation] as const))(
    'damages no checkpoint and leaves no orphan during %s',
    async (_name, operation) => {
      let calls = 0;
      for (const when of ['before', 'after'] as const)
        for (let call = 1; await crash(operation, encrypted, call, when); call++) calls = call;
      expect(calls).toBeGreaterThan(0);
    },
  );
});
