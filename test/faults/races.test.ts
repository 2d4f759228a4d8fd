import { describe, expect, test, vi } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { payload } from '../../lambda/checkpoints/payload.ts';
import { repeats } from '../deep.ts';
import { DAY, HOUR, MINUTE, SECOND } from './clock.ts';
import { choices } from './interleaving.ts';
import { expectSoundRun } from './invariants.ts';
import {
  advancingTime,
  collecting,
  createRun,
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

// Each race runs in at most twice this many orders; set RACES for more.
const MAX_ORDERS = Number(process.env.RACES ?? repeats(8, 30));

const countFulfilled = (outcomes: readonly PromiseSettledResult<unknown>[]): number =>
  outcomes.filter(({ status }) => status === 'fulfilled').length;

const GONE = ['RUN_DELETED', 'RUN_NOT_FOUND'];
const mayBeDeleted = { mayBeGone: GONE };

const RACES: readonly Race[] = [
  { actors: [saving(), saving()], check: (outcomes) => expect(countFulfilled(outcomes)).toBe(1) },
  {
    actors: [saving({}, [], false), saving({ status: 'SUCCEEDED' })],
    check: (outcomes) => expect(countFulfilled(outcomes)).toBe(1),
  },
  {
    actors: [savingPayloads(), saving({ name: 'x' }), saving({ name: 'x' })],
    check: (outcomes) => expect(countFulfilled(outcomes)).toBe(1),
  },
  {
    actors: [saving({ name: 'middle', moveName: true }), saving({ name: 'middle', moveName: true }, [], false)],
    check: (outcomes) => expect(countFulfilled(outcomes)).toBe(1),
  },
  {
    actors: [recreating, recreating],
    prepare: async () => {},
    check: (outcomes) => expect(countFulfilled(outcomes)).toBe(1),
  },
  {
    actors: [updating('a'), updating('b'), updating('c', [], false)],
    async check(_, { open }) {
      const { version, state } = await open().load(RUN);
      expect([version, [...state.log.slice(1)].sort()]).toEqual([NEWEST + 3, ['a', 'b', 'c']]);
    },
  },
  { actors: [savingPayloads(['RUN_DELETED']), deleting], ...mayBeDeleted },
  { actors: [saving({ status: 'FAILED' }, ['RUN_DELETED'], false), deleting], ...mayBeDeleted },
  { actors: [updating('a', ['RUN_DELETED']), deleting], ...mayBeDeleted },
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
    ...mayBeDeleted,
    check([saved, swept], _, sound) {
      // The faster one wins, and never both.
      const gone = swept?.status === 'fulfilled' && JSON.stringify(swept.value).includes('"swept":1');
      if (saved?.status === 'fulfilled' || gone) expect(gone).toBe(saved?.status === 'rejected');
      if (saved?.status === 'fulfilled') expect(sound).not.toBeTypeOf('string');
    },
  },
  { actors: [rewinding(['CHECKPOINT_PRUNED']), pruning()], prunes: true },
  { actors: [rewinding(['RUN_DELETED']), deleting], ...mayBeDeleted },
  { actors: [rewinding(), saving()] },
  {
    actors: [
      { does: 'undoes', run: (store) => store.undo(RUN) },
      saving(),
      { does: 'undoes', run: (store) => store.undo(RUN) },
    ],
  },
  { actors: [forking(['RUN_DELETED']), deleting], ...mayBeDeleted },
  { actors: [forking(['CHECKPOINT_PRUNED']), pruning()], prunes: true },
  {
    actors: [forking(['RUN_EXISTS']), forking(['RUN_EXISTS'])],
    check: (outcomes) => expect(countFulfilled(outcomes)).toBe(1),
  },
  { actors: [forking(), collecting], prepare: withOrphans, later: 2 * DAY },
  { actors: [loading(['CHECKPOINT_PRUNED']), pruning()], prunes: true },
  { actors: [loading(['RUN_DELETED']), deleting], ...mayBeDeleted },
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
  { actors: [loadingNewest(['RUN_DELETED']), deleting], ...mayBeDeleted },
  { actors: [verifying([]), pruning()], prunes: true },
  { actors: [verifying([]), savingPayloads()] },
  { actors: [verifying(['RUN_DELETED']), deleting], ...mayBeDeleted },
  { actors: [deleting, deleting], ...mayBeDeleted },
  { actors: [deleting, collecting], later: 2 * DAY, ...mayBeDeleted },
  {
    actors: [sweeping, sweeping, recreating],
    async prepare(scene) {
      await createRun(scene);
      await scene.open().delete(RUN);
    },
    later: DAY,
    ...mayBeDeleted,
    check([, , created], _, sound) {
      if (created?.status === 'fulfilled') expect(sound).not.toBeTypeOf('string');
    },
  },
  {
    // The first sweeper takes longer than the hour that it claimed.
    actors: [sweeping, sweeping, advancingTime(HOUR), recreating],
    async prepare(scene) {
      await createRun(scene);
      await scene.open().delete(RUN);
    },
    later: DAY,
    ...mayBeDeleted,
    check([, , , created], _, sound) {
      if (created?.status === 'fulfilled') expect(sound).not.toBeTypeOf('string');
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
  { actors: [shredding, savingPayloads(['RUN_SHREDDED'])], encrypted: true, mayBeGone: ['RUN_SHREDDED'] },
  { actors: [shredding, updating('a', ['RUN_SHREDDED'], false)], encrypted: true, mayBeGone: ['RUN_SHREDDED'] },
  {
    actors: [shredding, rotating(['RUN_NOT_ENCRYPTED', 'RUN_SHREDDED'])],
    encrypted: true,
    mayBeGone: ['RUN_SHREDDED'],
  },
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
  { actors: [rotating(['RUN_DELETED']), deleting], encrypted: true, ...mayBeDeleted },
  { actors: [saving(), updating('a'), saving({}, [], false)], later: 2 * HOUR },
  { actors: [rewinding(['CHECKPOINT_PRUNED']), pruning()], encrypted: true, prunes: true },
  { actors: [forking(['CHECKPOINT_PRUNED']), pruning()], encrypted: true, prunes: true },
  { actors: [forking(['RUN_DELETED']), deleting], encrypted: true, ...mayBeDeleted },
];

/** For example: one saves while another prunes and another updates. */
function nameOf({ actors: [first, ...others], encrypted }: Race): string {
  const together = others.map(({ does }) => `another ${does}`).join(' and ');
  return `one ${first?.does} while ${together}${encrypted ? ', on an encrypted run' : ''}`;
}

const named = RACES.map((race) => [nameOf(race), race] as const);

describe('concurrent processes, in any order of their storage calls', () => {
  test.each(named)('lose, duplicate and damage nothing when %s', async (_, race) => {
    const prepared = sceneOf(race.encrypted ?? false);
    seedIds(0);
    await (race.prepare ?? createRun)(prepared);
    const before = await expectSoundRun(prepared.open(), RUN);
    let count = 0;
    for (const choose of choices(MAX_ORDERS, 7)) {
      count++;
      await runRace(race, prepared, before, choose);
    }
    expect(count).toBeGreaterThan(1);
  });
});
