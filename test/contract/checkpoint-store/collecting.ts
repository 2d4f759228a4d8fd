import { describe, expect, test } from 'vitest';
import { type Payload, payload } from '../../../lambda/checkpoints/payload.ts';
import { randomText } from './random-text.ts';
import { recordCalls } from './record-calls.ts';
import { DAY, HOUR, type OpenStores } from './stores.ts';

interface State {
  page: Payload;
}

export function collectingContract(open: OpenStores): void {
  describe('a collection', () => {
    test('removes unreferenced payloads that are a day old, and nothing else', async () => {
      const { store, run, clock, storage, stored } = open();
      const saver = store<object>();
      const texts = [randomText(1, 90_000), randomText(2, 90_000)];
      await saver.save({ run, state: { texts, page: payload('in the first only') } });
      await saver.save({ run, state: { texts: [...texts, 'c'], page: payload('in the second') } });
      await saver.fork(run, { id: `${run} fork` });
      const live = [...(await stored().payloads()), ...(await stored(`${run} fork`).payloads())].map(({ id }) => id);
      // What a crash leaves between the payload and the record.
      const dying = recordCalls(storage, {
        beforeCommit: () => {
          throw new Error('killed');
        },
      });
      await expect(store({}, dying).save({ run: `${run} new`, state: payload('orphan of a run') })).rejects.toThrow(
        'killed',
      );
      await expect(
        store<object>({}, dying).update(run, (draft) => ({ ...draft, more: payload('orphan') })),
      ).rejects.toThrow('killed');
      const orphans = ['orphan of a run'.length, 'orphan'.length].reduce((sum, length) => sum + length);

      clock.forward(23 * HOUR);
      expect(await store().collect()).toEqual({ payloadsRemoved: 0, bytesRemoved: 0, failed: [] });
      clock.forward(DAY);
      expect(await store().collect()).toEqual({ payloadsRemoved: 2, bytesRemoved: orphans, failed: [] });
      expect(await store().collect()).toEqual({ payloadsRemoved: 0, bytesRemoved: 0, failed: [] });
      expect([...(await stored().payloads()), ...(await stored(`${run} fork`).payloads())].map(({ id }) => id)).toEqual(
        live,
      );
      expect(await stored(`${run} new`).payloads()).toEqual([]);
      for (const id of [run, `${run} fork`]) expect(await store().verify(id)).toMatchObject({ ok: true });
      expect(await (await store<State>().load(run, 1)).state.page.text()).toBe('in the first only');
    });

    test('skips a run that it cannot read, and reports it', async () => {
      const { store, run, clock, stored } = open();
      const saver = store();
      for (const id of [run, `${run} 2`]) await saver.save({ run: id, state: { page: payload('kept') } });
      await stored().alter(1, () => ({ meta: 'rubbish' }));
      clock.forward(2 * DAY);
      const result = await store().collect();
      expect(result).toMatchObject({ payloadsRemoved: 0, failed: [{ run, error: { code: 'DAMAGED' } }] });
      expect(await stored().payloads()).toHaveLength(1);
      expect(await stored(`${run} 2`).payloads()).toHaveLength(1);
    });

    test('removes payloads that a late writer left for a deleted run', async () => {
      const { store, run, clock, stored } = open();
      const late = store();
      await late.save({ run, state: 'one' });
      await store().delete(run);
      await expect(late.save({ run, state: payload('late') })).rejects.toMatchObject({ code: 'RUN_DELETED' });
      expect(await stored().payloads()).toHaveLength(1);
      clock.forward(2 * DAY);
      expect(await store().collect()).toMatchObject({ payloadsRemoved: 1, failed: [] });
      expect(await stored().payloads()).toEqual([]);
    });

    test('covers every tenant with `everyTenant`', async () => {
      const { store, run, clock, storage, tenant, stored } = open();
      const tenants = [tenant, `${tenant} 2`];
      for (const name of tenants) {
        await store({ tenant: name }).save({ run, state: { page: payload('in use') } });
        await storage.payloads.put(stored(run, name).partition, 'abandoned-orphan', Buffer.from('x'));
      }
      // Only those of this test, because others share the storage.
      const list = async function* (scope?: string) {
        for await (const found of storage.payloads.list(scope)) {
          if (tenants.some((name) => found.partition === stored(run, name).partition)) yield found;
        }
      };
      clock.forward(2 * DAY);
      const everywhere = store({}, { ...storage, payloads: { ...storage.payloads, list } });
      expect(await everywhere.collect({ everyTenant: true })).toEqual({
        payloadsRemoved: 2,
        bytesRemoved: 2,
        failed: [],
      });
      for (const name of tenants) {
        expect(await stored(run, name).payloads()).toHaveLength(1);
        expect((await store({ tenant: name }).verify(run)).ok).toBe(true);
      }
    });

    test('covers only its own tenant by default', async () => {
      const { store, run, clock, storage, tenant, stored } = open();
      const orphan = `${tenant} 2`;
      await storage.payloads.put(stored(run, orphan).partition, 'abandoned-orphan', Buffer.from('x'));
      clock.forward(2 * DAY);
      expect(await store().collect()).toMatchObject({ payloadsRemoved: 0 });
      expect(await store({ tenant: orphan }).collect()).toMatchObject({ payloadsRemoved: 1 });
    });
  });
}
