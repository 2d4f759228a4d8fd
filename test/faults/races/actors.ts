import { expect } from 'vitest';
import { payload } from '../../../lambda/checkpoints/payload.ts';
import type { ErrorCode } from '../../../lambda/core/errors.ts';
import { HOUR, MINUTE, SECOND } from '../clock.ts';
import { FORK, RUN, type Scene } from '../scene.ts';
import { noise } from '../seeded.ts';
import type { Actor } from './race.ts';

/** Five versions: a snapshot in a segment, a patch, another segment, payloads and names, then a separate snapshot. */
export async function createRun({ open }: Scene): Promise<void> {
  const store = open();
  const page = payload(noise('page', 1000));
  await store.save({ run: RUN, state: { log: [noise('large', 3000)], seen: page }, name: 'begin' });
  await store.update(RUN, ({ log, seen }) => ({ seen, log: [...log, 'small'] }));
  await store.update(RUN, ({ log }) => ({ log: [...log, noise('medium', 1000)] }), { name: 'middle' });
  await store.save({ run: RUN, expectedVersion: 3, toolResults: { call: payload(noise('result', 800)) } });
  await store.save({ run: RUN, expectedVersion: 4, state: { log: [noise('new', 4000)] } });
}

export const NEWEST = 5;

export const saving = (more: object = {}, mayFail: readonly ErrorCode[] = [], warm = true): Actor => ({
  does: `saves${warm ? '' : ' without a cached checkpoint'}`,
  warm,
  mayFail: ['STALE_VERSION', ...mayFail],
  run: (store) => store.save({ run: RUN, expectedVersion: NEWEST, state: { log: ['saved'] }, ...more }),
});
export const savingPayloads = (mayFail: readonly ErrorCode[] = []): Actor => ({
  ...saving({}, mayFail),
  does: 'saves payloads',
  run: (store) =>
    store.save({ run: RUN, expectedVersion: NEWEST, state: { log: [noise('more', 2000)], seen: payload('seen') } }),
});
export const updating = (mark: string, mayFail: readonly ErrorCode[] = [], warm = true): Actor => ({
  does: 'updates',
  warm,
  mayFail,
  run: (store) => store.update(RUN, ({ log }) => ({ log: [...log, mark] })),
});
export const deleting: Actor = { does: 'deletes the run', run: (store) => store.delete(RUN) };
export const pruning = (mayFail: readonly ErrorCode[] = []): Actor => ({
  does: 'prunes',
  mayFail,
  run: (store) => store.prune(RUN, { keepLast: 1, keepNamed: false }),
});
export const rewinding = (mayFail: readonly ErrorCode[] = []): Actor => ({
  does: 'rewinds',
  mayFail,
  run: (store) => store.rewind(RUN, 2),
});
export const forking = (mayFail: readonly ErrorCode[] = []): Actor => ({
  does: 'forks',
  mayFail,
  run: (store) => store.fork(RUN, { id: FORK, version: 2 }),
});
export const loading = (mayFail: readonly ErrorCode[]): Actor => ({
  does: 'loads an old version',
  mayFail,
  async run(store) {
    const { state } = await store.load(RUN, 2);
    expect(state.log).toEqual([noise('large', 3000), 'small']);
  },
});
export const loadingNewest = (mayFail: readonly ErrorCode[] = []): Actor => ({
  does: 'loads the newest version',
  mayFail,
  run: async (store) => void (await store.load(RUN)),
});
export const collecting: Actor = {
  does: 'collects orphans',
  run: async (store) => expect((await store.collect()).failed).toEqual([]),
};
export const sweeping: Actor = {
  does: 'sweeps',
  run: async (store) => {
    const result = await store.sweep();
    expect(result.failed).toEqual([]);
    return { swept: result.expired, freed: result.freed };
  },
};
export const verifying = (mayFail: readonly ErrorCode[]): Actor => ({
  does: 'verifies',
  mayFail,
  run: async (store) => expect((await store.verify(RUN)).problems).toEqual([]),
});
export const rotating = (mayFail: readonly ErrorCode[] = []): Actor => ({
  does: 'rotates the key',
  key: 'new',
  mayFail,
  run: (store) => store.rotateKey(RUN),
});
export const shredding: Actor = { does: 'destroys the key', run: (store) => store.shred(RUN) };
export const recreating: Actor = {
  does: 'creates the run',
  mayFail: ['STALE_VERSION', 'RUN_DELETED'],
  run: (store) =>
    store.save({ run: RUN, expectedVersion: 0, state: { log: [noise('again', 2000)], seen: payload('seen') } }),
};
export const advancingTime = (time: number): Actor => ({
  does: 'lets time pass',
  // The read waits for its turn.
  async run(store, { clock }) {
    await store.find('another run');
    clock.now += time;
  },
});

/** A run with an unreferenced payload that is old enough to be collected. */
export async function withOrphans(scene: Scene): Promise<void> {
  await createRun(scene);
  const orphan = { seen: payload('orphan'), log: [noise('orphan', 2000)] };
  await expect(scene.open().save({ run: RUN, expectedVersion: 0, state: orphan })).rejects.toThrow();
}

/** A run that was last used 59 minutes after its head was updated, and that expires in a second. */
export async function runNearExpiry(scene: Scene): Promise<void> {
  await createRun(scene);
  const { clock } = scene;
  await scene.open().save({ run: RUN, expectedVersion: NEWEST, retention: { hours: 2 } });
  clock.now += 59 * MINUTE;
  await scene.open().update(RUN, ({ log }) => ({ log: [...log, 'last'] }));
  clock.now += 2 * HOUR - SECOND;
}
