import { describe, expect, test, vi } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { payload } from '../../lambda/checkpoints/payload.ts';
import { DAY, HOUR, MINUTE, SECOND } from './clock.ts';
import { choices } from './interleaving.ts';
import { expectSoundRun } from './invariants.ts';
import {
  advancingTime,
  collecting,
  deleting,
  forking,
  loading,
  loadingNewest,
  NEWEST,
  pruning,
  recreating,
  rewinding,
  rotating,
  runNearExpiry,
  saving,
  savingPayloads,
  shredding,
  someRun,
  sweeping,
  updating,
  verifying,
  withOrphans,
} from './races/actors.ts';
import type { Race } from './races/race.ts';
import { runRace } from './races/running.ts';
import { keyBytes, RUN, sceneOf } from './scene.ts';
import { noise, seedIds } from './seeded.ts';

vi.mock('node:crypto', async (original) => ({
  ...(await original<typeof import('node:crypto')>()),
  randomBytes: (await import('./seeded.ts')).seededBytes,
}));
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<typeof import('node:timers/promises')>()),
  setTimeout: async () => {},
}));

// At most twice this many orders of each race; RACES asks for more.
const MOST = Number(process.env.RACES ?? 30);

const wins = (outcomes: readonly PromiseSettledResult<unknown>[]): number =>
  outcomes.filter(({ status }) => status === 'fulfilled').length;

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
  { actors: [recreating, recreating], prepare: async () => {}, check: (outcomes) => expect(wins(outcomes)).toBe(1) },
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
      advancingTime(MINUTE + 2 * SECOND),
    ],
    prepare: runNearExpiry,
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
    actors: [sweeping, sweeping, recreating],
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
    actors: [sweeping, sweeping, advancingTime(HOUR), recreating],
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
      const { status } = await createCheckpointStore(storage, { keys, clock: clock.read }).load(RUN);
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

const named = RACES.map((race) => ({
  race,
  name: race.actors.map(({ does }) => `one ${does}`).join(' while ') + (race.encrypted ? ', encrypted' : ''),
}));

describe('in whatever order the storage sees them, nothing is lost, doubled or damaged when', () => {
  test.each(named)('$name', async ({ race }) => {
    const prepared = sceneOf(race.encrypted ?? false);
    seedIds(0);
    await (race.prepare ?? someRun)(prepared);
    const before = await expectSoundRun(prepared.open(), RUN);
    let count = 0;
    for (const choose of choices(MOST, 7)) {
      count++;
      await runRace(race, prepared, before, choose);
    }
    expect(count).toBeGreaterThan(1);
  });
});
