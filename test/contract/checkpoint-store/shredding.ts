import { describe, expect, test } from 'vitest';
import type { CheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import { payload } from '../../../lambda/checkpoints/payload.ts';
import { keys } from './keys.ts';
import { all, MINUTE, type OpenStores } from './stores.ts';

export function shreddingContract(open: OpenStores): void {
  describe('shredding', () => {
    test('makes a run permanently unreadable for every store, and keeps its history', async () => {
      const { store, run, stored } = open();
      const saver = store({ keys });
      for (const n of [1, 2]) await saver.save({ run, state: { n, page: payload('secret') }, step: `step ${n}` });
      const other = store({ keys });
      await other.load(run);
      await store({ keys }).shred(run);
      for (const used of [saver, other, store({ keys }), store()]) {
        const uses = [
          used.load(run),
          used.load(run, 1),
          used.save({ run, expectedVersion: 2, state: 'x' }),
          used.save({ run, expectedVersion: 3, state: 'x' }),
          used.update(run, () => 'x'),
          used.fork(run),
          used.rewind(run, 1),
          used.rotateKey(run),
        ];
        for (const use of await Promise.allSettled(uses)) {
          expect(use).toMatchObject({
            status: 'rejected',
            reason: { code: expect.stringMatching(/^(RUN_SHREDDED|STALE_VERSION)$/) },
          });
        }
        await expect(used.load(run)).rejects.toMatchObject({ code: 'RUN_SHREDDED' });
      }
      expect(JSON.stringify(await stored().head())).not.toContain('ciphertext');
      expect((await all(store().history(run))).map(({ step, kind }) => [step, kind])).toMatchObject([
        ['step 1', 'save'],
        ['step 2', 'save'],
        [expect.anything(), 'shred'],
      ]);
      expect(await store().describe(run)).toMatchObject({ encrypted: true, shredded: true });
      expect(await store({ keys }).verify(run)).toMatchObject({ ok: true, payloads: undefined });
      await store({ keys }).shred(run);
      await store().delete(run);
      await expect(store().load(run)).rejects.toMatchObject({ code: 'RUN_DELETED' });
    });

    test('fences late writers, no matter which version they have', async () => {
      const { store, run, clock } = open();
      const saver = store({ keys });
      const late: CheckpointStore[] = [];
      for (let n = 1; n <= 3; n++) {
        await saver.save({ run, state: n });
        const holder = store({ keys });
        await holder.load(run);
        late.push(holder);
      }
      await store({ keys }).shred(run);
      for (const later of [0, 10 * MINUTE]) {
        clock.forward(later);
        for (const [index, holder] of late.entries()) {
          // A writer with the newest version, or one that reads again, learns why; any other gets a conflict.
          const expectedCode = later > 0 || index === 2 ? /^RUN_SHREDDED$/ : /^(RUN_SHREDDED|STALE_VERSION)$/;
          await expect(holder.save({ run, state: 'late', expectedVersion: index + 1 })).rejects.toMatchObject({
            code: expect.stringMatching(expectedCode),
          });
        }
      }
      expect(await all(store().history(run))).toHaveLength(4);
    });

    test('is rejected for a run that has no key or does not exist', async () => {
      const { store, run } = open();
      await expect(store({ keys }).shred(run)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
      await store().save({ run });
      await expect(store().shred(run)).rejects.toMatchObject({ code: 'RUN_NOT_ENCRYPTED' });
      await expect(store().rotateKey(run)).rejects.toMatchObject({ code: 'RUN_NOT_ENCRYPTED' });
    });
  });
}
