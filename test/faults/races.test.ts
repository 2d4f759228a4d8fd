import { describe, expect, test, vi } from 'vitest';
import type { Checkpoint } from '../../lambda/checkpoints/checkpoint.ts';
import { type CheckpointStore, checkpointStoreOn } from '../../lambda/checkpoints/checkpoint-store.ts';
import { localKeys } from '../../lambda/checkpoints/keys.ts';
import { payload } from '../../lambda/checkpoints/payload.ts';
import { type ErrorCode, isHoldpointError } from '../../lambda/core/errors.ts';
import { partitionOf } from '../../lambda/core/ids.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { type Clock, clockAt, DAY, HOUR, MINUTE, SECOND } from './clock.ts';
import { type Choose, choices, Interleaving } from './interleaving.ts';
import { noOrphans, payloadIdsOf, recordsOf, soundRun, TENANT } from './invariants.ts';
import { noise, seedIds } from './seeded.ts';
import { copyInto, withInlineBytes } from './storages.ts';

vi.mock('node:crypto', async (original) => ({
  ...(await original<typeof import('node:crypto')>()),
  randomBytes: (await import('./seeded.ts')).seededBytes,
}));
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<typeof import('node:timers/promises')>()),
  setTimeout: async () => {},
}));

const RUN = 'run';
const FORK = 'its-fork';
// At most twice this many orders of each race; RACES asks for more.
const MOST = Number(process.env.RACES ?? 30);
const keyBytes = { old: new Uint8Array(32).fill(1), new: new Uint8Array(32).fill(2) };

interface State {
  readonly log: readonly unknown[];
  readonly seen?: unknown;
}
type Store = CheckpointStore<State>;

interface Scene {
  readonly storage: Storage;
  readonly clock: Clock;
  open(on?: Storage, key?: 'old' | 'new'): Store;
}

/** One of those who do something at once. */
interface Actor {
  readonly does: string;
  run(store: Store, scene: Scene): Promise<unknown>;
  /** Whether its process has loaded the run before. */
  readonly warm?: boolean;
  readonly key?: 'old' | 'new';
  /** The codes with which it may rightly lose. */
  readonly mayFail?: readonly ErrorCode[];
}

interface Race {
  readonly actors: readonly Actor[];
  readonly encrypted?: boolean;
  /** What there is before: a run, unless told otherwise. */
  prepare?(scene: Scene): Promise<unknown>;
  /** The time at which the race begins, counted from the last preparation. */
  readonly later?: number;
  /** The run may be gone at the end, so that confirmed writes are too. */
  readonly mayGo?: readonly string[];
  /** Checkpoints may be pruned at the end. */
  readonly prunes?: boolean;
  check?(
    outcomes: readonly PromiseSettledResult<unknown>[],
    scene: Scene,
    sound: ReadonlyMap<number, unknown> | string,
  ): Promise<void> | void;
}

/** Five versions: a snapshot in a segment, a patch, a segment more, payloads that come and go, names; then a snapshot of its own. */
async function someRun({ open }: Scene): Promise<void> {
  const store = open();
  const page = payload(noise('page', 1000));
  await store.save({ run: RUN, state: { log: [noise('large', 3000)], seen: page }, name: 'begin' });
  await store.update(RUN, ({ log, seen }) => ({ seen, log: [...log, 'small'] }));
  await store.update(RUN, ({ log }) => ({ log: [...log, noise('medium', 1000)] }), { name: 'middle' });
  await store.save({ run: RUN, expectedVersion: 3, toolResults: { call: payload(noise('result', 800)) } });
  await store.save({ run: RUN, expectedVersion: 4, state: { log: [noise('new', 4000)] } });
}

const NEWEST = 5;

const saving = (more: object = {}, mayFail: readonly ErrorCode[] = [], warm = true): Actor => ({
  does: `saves${warm ? '' : ' without having loaded'}`,
  warm,
  mayFail: ['STALE_VERSION', ...mayFail],
  run: (store) => store.save({ run: RUN, expectedVersion: NEWEST, state: { log: ['saved'] }, ...more }),
});
const savingPayloads = (mayFail: readonly ErrorCode[] = []): Actor => ({
  ...saving({}, mayFail),
  does: 'saves payloads',
  run: (store) =>
    store.save({ run: RUN, expectedVersion: NEWEST, state: { log: [noise('more', 2000)], seen: payload('seen') } }),
});
const updating = (mark: string, mayFail: readonly ErrorCode[] = [], warm = true): Actor => ({
  does: 'updates',
  warm,
  mayFail,
  run: (store) => store.update(RUN, ({ log }) => ({ log: [...log, mark] })),
});
const deleting: Actor = { does: 'deletes', run: (store) => store.delete(RUN) };
const pruning = (mayFail: readonly ErrorCode[] = []): Actor => ({
  does: 'prunes',
  mayFail,
  run: (store) => store.prune(RUN, { keepLast: 1, keepNamed: false }),
});
const rewinding = (mayFail: readonly ErrorCode[] = []): Actor => ({
  does: 'rewinds',
  mayFail,
  run: (store) => store.rewind(RUN, 2),
});
const forking = (mayFail: readonly ErrorCode[] = []): Actor => ({
  does: 'forks',
  mayFail,
  run: (store) => store.fork(RUN, { id: FORK, version: 2 }),
});
const loading = (mayFail: readonly ErrorCode[]): Actor => ({
  does: 'loads an old version',
  mayFail,
  async run(store) {
    const { state } = await store.load(RUN, 2);
    expect(state.log).toEqual([noise('large', 3000), 'small']);
  },
});
const loadingNewest = (mayFail: readonly ErrorCode[] = []): Actor => ({
  does: 'loads the newest',
  mayFail,
  run: async (store) => void (await store.load(RUN)),
});
const collecting: Actor = {
  does: 'collects',
  run: async (store) => expect((await store.collect()).failed).toEqual([]),
};
const sweeping: Actor = {
  does: 'sweeps',
  run: async (store) => {
    const result = await store.sweep();
    expect(result.failed).toEqual([]);
    return { swept: result.expired, freed: result.freed };
  },
};
const verifying = (mayFail: readonly ErrorCode[]): Actor => ({
  does: 'verifies',
  mayFail,
  run: async (store) => expect((await store.verify(RUN)).problems).toEqual([]),
});
const rotating = (mayFail: readonly ErrorCode[] = []): Actor => ({
  does: 'rotates the key',
  key: 'new',
  mayFail,
  run: (store) => store.rotateKey(RUN),
});
const shredding: Actor = { does: 'destroys the key', run: (store) => store.shred(RUN) };
const beginning: Actor = {
  does: 'begins the run',
  mayFail: ['STALE_VERSION', 'RUN_DELETED'],
  run: (store) =>
    store.save({ run: RUN, expectedVersion: 0, state: { log: [noise('again', 2000)], seen: payload('seen') } }),
};
const passing = (time: number): Actor => ({
  does: 'is the time',
  // A read is its turn.
  async run(store, { clock }) {
    await store.find('another run');
    clock.now += time;
  },
});

const wins = (outcomes: readonly PromiseSettledResult<unknown>[]): number =>
  outcomes.filter(({ status }) => status === 'fulfilled').length;

/** A payload that nothing points at, old enough to be collected. */
async function withOrphans(scene: Scene): Promise<void> {
  await someRun(scene);
  const orphan = { seen: payload('orphan'), log: [noise('orphan', 2000)] };
  await expect(scene.open().save({ run: RUN, expectedVersion: 0, state: orphan })).rejects.toThrow();
}

/** A run that was last used 59 minutes after its head was touched, and whose end is a second away. */
async function nearItsEnd(scene: Scene): Promise<void> {
  await someRun(scene);
  const { clock } = scene;
  await scene.open().save({ run: RUN, expectedVersion: NEWEST, retentionSeconds: (2 * HOUR) / SECOND });
  clock.now += 59 * MINUTE;
  await scene.open().update(RUN, ({ log }) => ({ log: [...log, 'last'] }));
  clock.now += 2 * HOUR - SECOND;
}

const GONE = ['RUN_DELETED', 'RUN_NOT_FOUND'];
const deletedBy = { mayGo: GONE };

const RACES: readonly Race[] = [
  { actors: [saving(), saving()], check: (outcomes) => expect(wins(outcomes)).toBe(1) },
  {
    actors: [saving({}, [], false), saving({ status: 'SUCCEEDED' })],
    check: (outcomes) => expect(wins(outcomes)).toBe(1),
  },
  {
    actors: [savingPayloads(), saving({ name: 'x' }), saving({ name: 'x' })],
    check: (outcomes) => expect(wins(outcomes)).toBe(1),
  },
  {
    actors: [saving({ name: 'middle', moveName: true }), saving({ name: 'middle', moveName: true }, [], false)],
    check: (outcomes) => expect(wins(outcomes)).toBe(1),
  },
  { actors: [beginning, beginning], prepare: async () => {}, check: (outcomes) => expect(wins(outcomes)).toBe(1) },
  {
    actors: [updating('a'), updating('b'), updating('c', [], false)],
    async check(_, { open }) {
      const { version, state } = await open().load(RUN);
      expect([version, [...state.log.slice(1)].sort()]).toEqual([NEWEST + 3, ['a', 'b', 'c']]);
    },
  },
  { actors: [savingPayloads(['RUN_DELETED']), deleting], ...deletedBy },
  { actors: [saving({ status: 'FAILED' }, ['RUN_DELETED'], false), deleting], ...deletedBy },
  { actors: [updating('a', ['RUN_DELETED']), deleting], ...deletedBy },
  { actors: [savingPayloads(), pruning()], prunes: true },
  { actors: [updating('a'), pruning(), collecting], prunes: true, later: 2 * DAY },
  { actors: [pruning(), pruning()], prunes: true },
  {
    actors: [
      {
        ...savingPayloads(['RUN_EXPIRED', 'RUN_DELETED']),
        run: (store) => store.save({ run: RUN, expectedVersion: 7, state: { log: [], seen: payload('seen') } }),
      },
      sweeping,
      passing(MINUTE + 2 * SECOND),
    ],
    prepare: nearItsEnd,
    ...deletedBy,
    check([saved, swept], _, sound) {
      // Whoever was faster, and never both.
      const gone = swept?.status === 'fulfilled' && JSON.stringify(swept.value).includes('"swept":1');
      if (saved?.status === 'fulfilled' || gone) expect(gone).toBe(saved?.status === 'rejected');
      if (saved?.status === 'fulfilled') expect(sound).not.toBeTypeOf('string');
    },
  },
  { actors: [rewinding(['CHECKPOINT_PRUNED']), pruning()], prunes: true },
  { actors: [rewinding(['RUN_DELETED']), deleting], ...deletedBy },
  { actors: [rewinding(), saving()] },
  {
    actors: [
      { does: 'undoes', run: (store) => store.undo(RUN) },
      saving(),
      { does: 'undoes', run: (store) => store.undo(RUN) },
    ],
  },
  { actors: [forking(['RUN_DELETED']), deleting], ...deletedBy },
  { actors: [forking(['CHECKPOINT_PRUNED']), pruning()], prunes: true },
  { actors: [forking(['RUN_EXISTS']), forking(['RUN_EXISTS'])], check: (outcomes) => expect(wins(outcomes)).toBe(1) },
  { actors: [forking(), collecting], prepare: withOrphans, later: 2 * DAY },
  { actors: [loading(['CHECKPOINT_PRUNED']), pruning()], prunes: true },
  { actors: [loading(['RUN_DELETED']), deleting], ...deletedBy },
  { actors: [loadingNewest(), pruning(), updating('a')], prunes: true },
  {
    actors: [
      loadingNewest(),
      pruning(),
      {
        ...saving(),
        run: (store) => store.save({ run: RUN, expectedVersion: NEWEST, state: { log: [noise('x', 5000)] } }),
      },
      pruning(),
    ],
    prunes: true,
  },
  { actors: [loadingNewest(['RUN_DELETED']), deleting], ...deletedBy },
  { actors: [verifying([]), pruning()], prunes: true },
  { actors: [verifying([]), savingPayloads()] },
  { actors: [verifying(['RUN_DELETED']), deleting], ...deletedBy },
  { actors: [deleting, deleting], ...deletedBy },
  { actors: [deleting, collecting], later: 2 * DAY, ...deletedBy },
  {
    actors: [sweeping, sweeping, beginning],
    async prepare(scene) {
      await someRun(scene);
      await scene.open().delete(RUN);
    },
    later: DAY,
    ...deletedBy,
    check([, , begun], _, sound) {
      if (begun?.status === 'fulfilled') expect(sound).not.toBeTypeOf('string');
    },
  },
  {
    // The first sweeper takes longer than the hour that it claimed.
    actors: [sweeping, sweeping, passing(HOUR), beginning],
    async prepare(scene) {
      await someRun(scene);
      await scene.open().delete(RUN);
    },
    later: DAY,
    ...deletedBy,
    check([, , , begun], _, sound) {
      if (begun?.status === 'fulfilled') expect(sound).not.toBeTypeOf('string');
    },
  },
  { actors: [collecting, savingPayloads()], prepare: withOrphans, later: 2 * DAY },
  { actors: [collecting, rewinding()], prepare: withOrphans, later: 2 * DAY },
  {
    actors: [collecting, rewinding(['CHECKPOINT_PRUNED']), pruning()],
    prepare: withOrphans,
    later: 2 * DAY,
    prunes: true,
  },
  { actors: [shredding, savingPayloads(['RUN_SHREDDED'])], encrypted: true, mayGo: ['RUN_SHREDDED'] },
  { actors: [shredding, updating('a', ['RUN_SHREDDED'], false)], encrypted: true, mayGo: ['RUN_SHREDDED'] },
  { actors: [shredding, rotating(['RUN_NOT_ENCRYPTED', 'RUN_SHREDDED'])], encrypted: true, mayGo: ['RUN_SHREDDED'] },
  {
    actors: [rotating(), { ...saving({ status: 'WAITING_FOR_APPROVAL' }), mayFail: [] }],
    encrypted: true,
    async check(_, { storage, clock }) {
      // The old key is no longer needed.
      const keys = localKeys({ current: 'new', keys: { new: keyBytes.new } });
      const { status } = await checkpointStoreOn(storage, { keys, clock: clock.read }).load(RUN);
      expect(status).toBe('WAITING_FOR_APPROVAL');
    },
  },
  { actors: [rotating(), { ...saving({ owner: 'somebody' }), mayFail: [] }, rotating()], encrypted: true },
  { actors: [rotating(['RUN_DELETED']), deleting], encrypted: true, ...deletedBy },
  { actors: [saving(), updating('a'), saving({}, [], false)], later: 2 * HOUR },
  { actors: [rewinding(['CHECKPOINT_PRUNED']), pruning()], encrypted: true, prunes: true },
  { actors: [forking(['CHECKPOINT_PRUNED']), pruning()], encrypted: true, prunes: true },
  { actors: [forking(['RUN_DELETED']), deleting], encrypted: true, ...deletedBy },
];

function sceneOf(encrypted: boolean): Scene {
  const clock = clockAt();
  const storage = withInlineBytes(memoryStorage({ clock: clock.read }), 700);
  return {
    storage,
    clock,
    open: (on = storage, current = 'old') =>
      checkpointStoreOn<State>(on, {
        clock: clock.read,
        ...(encrypted && { keys: localKeys({ current, keys: keyBytes }) }),
      }),
  };
}

/** Runs a race in one order, on a copy of what was prepared, and looks at what came of it. */
async function runRace(race: Race, prepared: Scene, before: Awaited<ReturnType<typeof soundRun>>, choose: Choose) {
  const scene = sceneOf(race.encrypted ?? false);
  const { storage, clock, open } = scene;
  seedIds(1);
  await copyInto(storage, prepared.storage, [partitionOf(TENANT, RUN)]);
  clock.now = prepared.clock.now + (race.later ?? 0);
  const interleaving = new Interleaving(race.actors.length);
  const stores = race.actors.map(({ key }, index) => open(interleaving.storageFor(index, storage), key));
  for (const [index, { warm }] of race.actors.entries()) if (warm) await stores[index]?.load(RUN);
  const outcomes = await interleaving.run(
    race.actors.map((actor, index) => () => actor.run(stores[index] as Store, scene)),
    choose,
  );

  const won: Checkpoint<State>[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') {
      if (isCheckpoint(outcome.value)) won.push(outcome.value);
    } else if (!isHoldpointError(outcome.reason) || !race.actors[index]?.mayFail?.includes(outcome.reason.code)) {
      throw new Error(`Who ${race.actors[index]?.does} got: ${String(outcome.reason)}`, { cause: outcome.reason });
    }
  }
  const sound = await soundRun(open(), RUN);
  expectNothingLost(race, before, sound);
  const places = won.map(({ run, version }) => `${run}/${version}`);
  expect(new Set(places).size).toBe(places.length);
  for (const { run, version, writeId } of won) await expectThere(race, open(), run, version, writeId);
  await soundRun(open(), FORK);
  await race.check?.(outcomes, scene, sound);

  await expectNothingLeft(scene);
}

const isCheckpoint = (value: unknown): value is Checkpoint<State> =>
  typeof value === 'object' && value !== null && 'writeId' in value;

function expectNothingLost(
  race: Race,
  before: Awaited<ReturnType<typeof soundRun>>,
  after: Awaited<ReturnType<typeof soundRun>>,
): void {
  if (typeof after === 'string') {
    expect(typeof before === 'string' ? [...(race.mayGo ?? []), before] : race.mayGo).toContain(after);
    return;
  }
  if (typeof before === 'string') return;
  for (const [version, content] of before)
    if (after.has(version) || !race.prunes) expect(after.get(version)).toEqual(content);
}

/** What was confirmed is there. */
async function expectThere(race: Race, store: Store, run: string, version: number, writeId: string): Promise<void> {
  try {
    expect((await store.load(run, version)).writeId).toBe(writeId);
  } catch (error) {
    const known = [...(race.mayGo ?? []), ...(race.prunes ? ['CHECKPOINT_PRUNED'] : [])];
    if (!isHoldpointError(error) || !known.includes(error.code) || run !== RUN) throw error;
  }
}

/** Orphans go after two days and nothing else does; what is deleted then goes to the last byte. */
async function expectNothingLeft({ storage, clock, open }: Scene): Promise<void> {
  const sound = await soundRun(open(), RUN);
  clock.now += 2 * DAY;
  const store = open();
  expect((await store.collect()).failed).toEqual([]);
  await noOrphans(storage, RUN);
  await noOrphans(storage, FORK);
  const later = await soundRun(open(), RUN);
  if (later !== 'RUN_EXPIRED') expect(later).toEqual(sound);
  for (const run of [RUN, FORK]) if ((await recordsOf(storage, run)).length > 0) await store.delete(run);
  clock.now += 2 * DAY;
  await store.sweep();
  for (const run of [RUN, FORK]) {
    expect(await recordsOf(storage, run)).toEqual([]);
    expect(await payloadIdsOf(storage, run)).toEqual([]);
  }
}

const named = RACES.map((race) => ({
  race,
  name: race.actors.map(({ does }) => `one ${does}`).join(' while ') + (race.encrypted ? ', encrypted' : ''),
}));

describe('in whatever order the storage sees them, nothing is lost, doubled or damaged when', () => {
  test.each(named)('$name', async ({ race }) => {
    const prepared = sceneOf(race.encrypted ?? false);
    seedIds(0);
    await (race.prepare ?? someRun)(prepared);
    const before = await soundRun(prepared.open(), RUN);
    let count = 0;
    for (const choose of choices(MOST, 7)) {
      count++;
      await runRace(race, prepared, before, choose);
    }
    expect(count).toBeGreaterThan(1);
  });
});
