import { describe, expect, test } from 'vitest';
import { STATUSES, type Status, TRANSITIONS } from '../../../lambda/core/status.ts';
import { type OpenStores, SECOND } from './stores.ts';

export function statusesContract(open: OpenStores): void {
  describe('the status of a run', () => {
    test('is RUNNING from the start unless another is given, and stays until it is changed', async () => {
      const { store, run } = open();
      const saver = store();
      expect(await saver.save({ run })).toMatchObject({ status: 'RUNNING' });
      await saver.save({ run, status: 'SLEEPING' });
      await saver.save({ run, state: 'still asleep' });
      expect(await store().load(run)).toMatchObject({ version: 3, status: 'SLEEPING' });
      expect(await store().describe(run)).toMatchObject({ status: 'SLEEPING', statusChange: { version: 2 } });
      expect(await saver.save({ run: `${run} 2`, status: 'READY' })).toMatchObject({ status: 'READY' });
    });

    test.each(STATUSES)('can change from %s exactly as the table allows', async (from) => {
      const { store, run } = open();
      for (const to of STATUSES) {
        const saver = store();
        const id = `${run} ${to}`;
        await saver.save({ run: id, status: from });
        const next = saver.save({ run: id, status: to });
        if (from === to || TRANSITIONS[from].includes(to)) {
          expect(await next).toMatchObject({ version: 2, status: to });
        } else {
          await expect(next).rejects.toMatchObject({ code: 'TRANSITION_REFUSED', scope: 'run' });
          expect(await store().load(id)).toMatchObject({ version: 1, status: from });
        }
      }
    });

    test('is rejected with a list of the allowed statuses', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, status: 'ENDING' });
      await expect(saver.save({ run, status: 'RUNNING' })).rejects.toThrow(
        /is ENDING and cannot become RUNNING\. Allowed: FAILED, CANCELLED/,
      );
    });

    test('changes atomically with its checkpoint', async () => {
      const { store, run, stored, clock } = open();
      const saver = store();
      await saver.save({ run, state: 1 });
      clock.forward(SECOND);
      const statuses: Status[] = ['WAITING_FOR_SIGNAL', 'READY', 'RUNNING', 'SUCCEEDED'];
      for (const status of statuses) {
        const saved = await saver.save({ run, status, step: `to ${status}` });
        expect(await stored().head()).toMatchObject({
          status,
          version: saved.version,
          hash: saved.hash,
          step: `to ${status}`,
          updatedAt: clock.now,
        });
      }
    });

    test('belongs to the previous step when it changes without a step', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, state: 1, step: 'book flight' });
      await saver.save({ run, status: 'FAILED' });
      expect(await store().describe(run)).toMatchObject({
        status: 'FAILED',
        statusChange: { version: 2, step: 'book flight', stepNumber: 1 },
      });
    });

    test('changes even when another writer updated the head meanwhile', async () => {
      const { store, run, stored } = open();
      const saver = store();
      await saver.save({ run, state: 1 });
      await stored().alterHead({ agent: 'renamed meanwhile' });
      expect(await saver.save({ run, status: 'SLEEPING' })).toMatchObject({ version: 2, status: 'SLEEPING' });
      expect(await stored().head()).toMatchObject({ status: 'SLEEPING', version: 2, agent: 'renamed meanwhile' });
    });
  });
}
