import { describe, expect, test } from 'vitest';
import { recordCalls } from './record-calls.ts';
import { all, type OpenStores } from './stores.ts';

export function contentionContract(open: OpenStores): void {
  describe('concurrent writers', () => {
    test('count each of 20 updates by 10 stores exactly once', async () => {
      const { store, run } = open();
      await store().save({ run, state: { count: 0, by: [] } });
      const stores = Array.from({ length: 10 }, () => store<{ count: number; by: string[] }>());
      await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          stores[i % 10]?.update(run, (draft) => {
            draft.count += 1;
            draft.by.push(`update ${i}`);
          }),
        ),
      );
      const loaded = await store<{ count: number; by: string[] }>().load(run);
      expect(loaded).toMatchObject({ version: 21, state: { count: 20 } });
      expect(new Set(loaded.state.by).size).toBe(20);
      const history = await all(store().history(run));
      expect(history.map(({ version }) => version)).toEqual(Array.from({ length: 21 }, (_, i) => i + 1));
      expect((await store().verify(run)).ok).toBe(true);
    });

    test.each([
      ['a first save', 0, {}],
      ['a step', 1, {}],
      ['a change of status', 1, { status: 'SLEEPING' }],
    ] as const)(
      'have one winner when 50 of them save %s, and the others learn who won',
      async (_, expectedVersion, fields) => {
        const { store, run } = open();
        if (expectedVersion > 0) await store().save({ run, state: 'before' });
        const outcomes = await Promise.allSettled(
          Array.from({ length: 50 }, (_, i) =>
            store({ writer: `writer ${i}` }).save({
              run,
              expectedVersion,
              state: `by ${i}`,
              step: `step ${i}`,
              ...fields,
            }),
          ),
        );
        const [winner, ...others] = outcomes.filter((outcome) => outcome.status === 'fulfilled');
        expect(others).toEqual([]);
        const { version, writer, step, hash, state } = winner?.value ?? {};
        expect(version).toBe(expectedVersion + 1);
        const losers = outcomes.filter((outcome) => outcome.status === 'rejected');
        expect(losers).toHaveLength(49);
        for (const { reason } of losers) {
          expect(reason).toMatchObject({
            code: 'STALE_VERSION',
            expectedVersion,
            found: { version, writer, step, hash },
          });
        }
        expect(await store().load(run)).toMatchObject({ version, state });
        expect((await store().verify(run)).ok).toBe(true);
      },
    );

    test('need no read between their updates if they share one store', async () => {
      const { store, run, storage } = open();
      const counting = recordCalls(storage);
      const saver = store<{ count: number }>({}, counting);
      await saver.save({ run, state: { count: 0 } });
      counting.calls.length = 0;
      for (let i = 0; i < 3; i++) await saver.update(run, (draft) => void draft.count++);
      expect(counting.calls).toEqual(['commit', 'commit', 'commit']);
    });
  });
}
