import { describe, expect, test } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { contextFactory } from '../../lambda/checkpoints/context-factory.ts';
import type { HeadMeta } from '../../lambda/checkpoints/format/meta.ts';
import { headRecord } from '../../lambda/checkpoints/format/records.ts';
import { toPartition } from '../../lambda/core/ids.ts';
import { DUE_SHARD_COUNT, dueGroup, HEAD_KEY, inboxGroup, tenantGroup, timeOrder } from '../../lambda/storage/keys.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { ListEntries, ListName, StoredRecord } from '../../lambda/storage/ports.ts';
import { all } from '../contract/checkpoint-store/stores.ts';

const NOW = 1_800_000_000_000;
const clock = () => NOW;

/** A storage to which somebody writes what they like, in partitions of acme. */
function scene() {
  const storage = memoryStorage({ clock });
  const store = (tenant: string) => createCheckpointStore(storage, { tenant, clock });
  const put = (record: StoredRecord) => storage.records.commit([{ put: record, when: 'absent' }]);
  const runsOf = async (tenant: string, filter = {}) =>
    (await all(store(tenant).runs(filter))).map(({ run }) => run).sort();
  return { storage, store, put, runsOf };
}

const head = (more: Partial<HeadMeta> = {}): HeadMeta => ({
  ...{ uid: 'b', createdAt: NOW, updatedAt: NOW, status: 'READY', version: 1, hash: 'h', stepNumber: 1 },
  ...more,
});

const forged = (run: string, lists: ListEntries): StoredRecord => ({
  ...headRecord(toPartition('acme', run), head({ owner: 'ann' })).stored,
  lists: lists,
});

describe('a list of records', () => {
  test('has no record of another tenant, no matter which list entry the record has', async () => {
    const { storage, store, put, runsOf } = scene();
    await store('globex').save({ run: 'own', state: 1, status: 'READY', owner: 'ann' });
    const order = timeOrder(NOW);
    for (const [list, kind] of [
      ['status', 'READY'],
      ['owner', 'ann'],
    ] as const)
      for (const tenant of ['globex', 'acm', 'acme2'])
        await put(forged(`${list}-${tenant}`, { [list]: { group: tenantGroup(tenant, kind), order } }));
    await put(forged('inbox', { owner: { group: inboxGroup('globex', 'user:ann'), order } }));
    expect(await runsOf('globex')).toEqual(['own']);
    expect(await runsOf('globex', { owner: 'ann' })).toEqual(['own']);
    for (const tenant of ['acm', 'acme2']) expect(await runsOf(tenant)).toEqual([]);
    const { records } = await contextFactory(storage, { tenant: 'globex' }).forTenant();
    expect((await records.list('owner', inboxGroup('globex', 'user:ann'))).records).toEqual([]);
    expect((await storage.records.list('owner', inboxGroup('globex', 'user:ann'))).records).toHaveLength(1);
  });

  test('has no record of another shard in the due list', async () => {
    const { storage, put } = scene();
    const partition = toPartition('acme', 'r');
    const own = dueGroup(partition);
    const other = own === 'due/0' ? 'due/1' : 'due/0';
    const { records } = await contextFactory(storage, {}).forTenant();
    await put(forged('r', { due: { group: other, order: '0' } }));
    expect((await records.list('due', other)).records).toEqual([]);
    const link = { partition: '@token/x', key: 't', revision: 'r', meta: '1{}' };
    await put({ ...link, lists: { due: { group: dueGroup(link.partition), order: '0' } } });
    expect((await records.list('due', dueGroup(link.partition))).records).toMatchObject([link]);
  });

  test('continues after records that it leaves out', async () => {
    const { storage, put } = scene();
    const group = tenantGroup('globex', 'READY');
    for (const n of [1, 2, 3]) await put(forged(`r${n}`, { status: { group, order: `${n}` } }));
    const stored = headRecord(toPartition('globex', 'own'), head()).stored;
    await put({ ...stored, lists: { status: { group, order: '4' } } });
    const { records } = await contextFactory(storage, {}).forTenant();
    const first = await records.list('status', group, { limit: 3 });
    expect(first.records).toEqual([]);
    const rest = await records.list('status', group, { after: first.next ?? '' });
    expect(rest.records).toMatchObject([{ partition: 'globex/own' }]);
  });
});

describe('a list of runs', () => {
  const broken = (run: string, list: ListName, meta = '1{"nonsense":true}'): StoredRecord => {
    const partition = toPartition('acme', run);
    const group = list === 'due' ? dueGroup(partition) : tenantGroup('acme', 'READY');
    return { partition, key: HEAD_KEY, revision: 'x', meta, lists: { [list]: { group, order: timeOrder(NOW) } } };
  };

  test('skips an unreadable run, which a direct read reports', async () => {
    const { store, put, runsOf } = scene();
    await store('acme').save({ run: 'good', state: 1, status: 'READY' });
    await put(broken('bad', 'status'));
    await put(broken('new', 'status', '9{}'));
    await put(broken('soon', 'due'));
    expect(await runsOf('acme')).toEqual(['good']);
    await expect(store('acme').describe('bad')).rejects.toMatchObject({ code: 'DAMAGED' });
    await expect(store('acme').describe('new')).rejects.toMatchObject({ code: 'FORMAT_TOO_NEW' });
  });

  test('reads only the first entries of each due shard, no matter how many entries other tenants have', async () => {
    const { storage, put } = scene();
    const lease = { by: 'w', until: NOW + 60_000, fence: 1 };
    const leased = (tenant: string, run: string, dueAt: number) =>
      headRecord(toPartition(tenant, run), head({ status: 'RUNNING', work: { eventCount: 0, dueAt, lease } as never }))
        .stored;
    const own = leased('globex', 'own', NOW);
    const group = dueGroup(own.partition);
    const inShard = Array.from({ length: 20_000 }, (_, n) => `r${n}`).filter(
      (run) => dueGroup(toPartition('acme', run)) === group,
    );
    for (const run of inShard.slice(0, 1_100)) await put(leased('acme', run, NOW + 1));
    await put(own);
    await put(leased('globex', inShard[0] ?? '', NOW + 1));
    const limits: (number | undefined)[] = [];
    const list: typeof storage.records.list = (name, value, options) => {
      if (name === 'due') limits.push(options?.limit);
      return storage.records.list(name, value, options);
    };
    const store = createCheckpointStore(
      { ...storage, records: { ...storage.records, list } },
      { tenant: 'globex', clock },
    );
    expect((await all(store.runs({ status: 'RUNNING' }))).map(({ run }) => run)).toContain('own');
    expect(limits).toEqual(Array.from({ length: DUE_SHARD_COUNT }, () => 1_000));
  });
});
