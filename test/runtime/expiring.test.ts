import { expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { resolveToken } from '../../lambda/runtime/approvals/tokens.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import { TOKEN_PARTITION_PREFIX, timeOrder } from '../../lambda/storage/keys.ts';
import type { Storage, StoredRecord } from '../../lambda/storage/ports.ts';
import { type TestEnvironment, testAgents } from '../../lambda/testing.ts';
import { errorOf } from '../contract/checkpoint-store/stores.ts';
import { linkFor } from './approvals/scene.ts';
import { describeOnEachStorage } from './storages.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
// Later than every real clock, so that a storage with TTL does not remove records that have not expired in the test.
const NOW = new Date('2100-01-01T00:00:00Z');

let calls = 0;
const listener = agent({
  name: 'listener',
  async run(ctx, wants: 'signal' | 'price' | 'price, for good') {
    if (wants === 'signal') return ctx.waitForSignal('go');
    const cache = { shared: true, ...(wants === 'price' && { hours: 1 }) };
    return ctx.tool('price', {}, () => ++calls, { cache });
  },
});

/** A test environment that collects the records that are written. */
function worldOn(storage: Storage) {
  const put: StoredRecord[] = [];
  const records: Storage['records'] = {
    ...storage.records,
    async commit(writes) {
      await storage.records.commit(writes);
      put.push(...writes.flatMap((write) => ('put' in write ? write.put : [])));
    },
  };
  const world = testAgents(listener, { storage: { ...storage, records }, now: NOW });
  return { ...world, put, sweep: () => sweepDue({ runtime: world.agent.runtime }) };
}

/** The kinds of records that expire, and how long they are kept. */
const kinds = {
  link: {
    lasts: HOUR,
    is: ({ partition }: StoredRecord) => partition.startsWith(TOKEN_PARTITION_PREFIX),
    async keep({ agent, clock }: TestEnvironment) {
      const at = await agent.runtime.contexts.forRun('r');
      const { tenant, run } = at;
      await linkFor(at, { tenant, run, approval: 'a', person: 'user:ann', expiresAt: clock.now() + HOUR });
    },
  },
  'shared result': {
    lasts: HOUR,
    is: ({ partition }: StoredRecord) => partition.endsWith('/@cache'),
    keep: async (world: TestEnvironment) => void (await world.start('price')),
  },
  'shared result without a time': {
    lasts: 30 * DAY,
    is: ({ partition }: StoredRecord) => partition.endsWith('/@cache'),
    keep: async (world: TestEnvironment) => void (await world.start('price, for good')),
  },
  'signal to a run that was never started': {
    lasts: 7 * DAY,
    is: ({ key }: StoredRecord) => key.startsWith('w'),
    keep: async (world: TestEnvironment) => void (await world.run('never').signal('go', 1)),
  },
};

describeOnEachStorage('an expiring record', (open) => {
  it.each(Object.entries(kinds))(
    'is removed by the TTL of the storage, or by a sweep where the storage has none, if it is a %s',
    async (_, kind) => {
      const storage = await open();
      const { put, sweep, ...world } = worldOn(storage);
      await world.start('signal', { id: 'r' });
      await kind.keep(world as TestEnvironment);
      const expiryTime = world.clock.now() + kind.lasts;
      const [kept] = put.filter(kind.is);
      if (!kept) throw new Error('Nothing was kept.');
      const exists = async () => (await storage.records.read(kept.partition, [kept.key])).length > 0;
      const expiry = { expiresAt: kept.expiresAt, due: kept.lists?.due?.order };
      // Nothing else has a TTL: runs are removed as a whole.
      expect(put.filter((record) => record.expiresAt !== undefined && record !== kept)).toEqual([]);

      if (storage.records.removesExpired) {
        expect(expiry).toEqual({ expiresAt: expiryTime, due: undefined });
        world.clock.moveTo(expiryTime);
        expect(await sweep()).toMatchObject({ removed: 0, failed: [] });
        expect(await exists()).toBe(true);
        return;
      }
      expect(expiry).toEqual({ expiresAt: undefined, due: timeOrder(expiryTime) });
      world.clock.moveTo(expiryTime - 1);
      expect(await sweep()).toMatchObject({ removed: 0, failed: [] });
      expect(await exists()).toBe(true);
      world.clock.moveTo(expiryTime);
      expect(await sweep()).toMatchObject({ removed: 1, failed: [] });
      expect(await exists()).toBe(false);
    },
  );

  it('is swept when an older version listed it in the due index', async () => {
    const storage = await open();
    const older = { ...storage, records: { ...storage.records, removesExpired: false } };
    const { put, sweep, ...world } = worldOn(older);
    await world.run('never').signal('go', 1);
    expect(put).toMatchObject([{ lists: { due: { order: timeOrder(NOW.getTime() + 7 * DAY) } } }]);
    const now = worldOn(storage);
    now.clock.moveTo(NOW.getTime() + 7 * DAY);
    expect(await now.sweep()).toMatchObject({ removed: 1, failed: [] });
  });

  it('is ignored once it has expired, even before it is removed: a link', async () => {
    const { clock, ...world } = worldOn(await open());
    await world.start('signal', { id: 'r' });
    const at = await world.agent.runtime.contexts.forRun('r');
    const { tenant, run } = at;
    const expiresAt = clock.now() + 1500;
    const token = await linkFor(at, { tenant, run, approval: 'a', person: 'user:ann', expiresAt });
    clock.moveTo(expiresAt - 1);
    expect(await resolveToken(at, token)).toMatchObject({ expiresAt });
    clock.moveTo(expiresAt);
    expect(await errorOf(resolveToken(at, token))).toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
  });

  it('is ignored once it has expired, even before it is removed: a shared result', async () => {
    const { clock, ...world } = worldOn(await open());
    const price = async () => {
      const { id } = await world.agent.start('price, for good');
      await world.settle();
      return world.run(id).result();
    };
    const first = await price();
    // No sweep runs here, so the expired value is still stored.
    clock.moveTo(clock.now() + 30 * DAY - 1);
    expect(await price()).toBe(first);
    clock.moveTo(clock.now() + 1);
    expect(await price()).not.toBe(first);
    expect(await price()).toBe(Number(first) + 1);
  });

  it('is ignored once it has expired, even before it is removed: an early signal', async () => {
    const { clock, ...world } = worldOn(await open());
    await world.agent.run('soon').signal('go', 'kept');
    await world.agent.run('late').signal('go', 'lost');
    clock.moveTo(clock.now() + 7 * DAY - 1);
    expect(await (await world.start('signal', { id: 'soon' })).result()).toBe('kept');
    clock.moveTo(clock.now() + 1);
    expect(await (await world.start('signal', { id: 'late' })).status()).toBe('WAITING_FOR_SIGNAL');
  });

  it('is replaced by a new one with the same id: an early signal', async () => {
    const { clock, ...world } = worldOn(await open());
    const send = (value: string) => world.agent.run('r').signal('go', value, { id: 'click' });
    expect(await send('first')).toBe(true);
    clock.moveTo(clock.now() + 7 * DAY - 1);
    expect(await send('again')).toBe(false);
    clock.moveTo(clock.now() + 1);
    expect(await send('much later')).toBe(true);
    expect(await send('once more')).toBe(false);
    expect(await (await world.start('signal', { id: 'r' })).result()).toBe('much later');
  });
});
