import { describe, expect, it } from 'vitest';
import type { Account } from '../account.ts';
import { api, callerOf, deploy, statusOf } from '../scene.ts';

/** The bus rejects events for hours. */
export function runEnds(): void {
  describe('the end of a run that cannot be published', () => {
    const typesOf = ({ sent }: Account) => sent.events.map(({ type }) => type);

    async function cancelled(run: string): Promise<Account> {
      const account = await deploy('plain');
      account.sent.isBusDown = true;
      await api(account, 'POST', '/api/runs', callerOf(account, 'Shop'), {
        agent: 'orders',
        id: run,
        input: { item: 'lamp' },
      });
      await account.flow();
      await api(account, 'POST', `/api/runs/${run}/cancel`, callerOf(account, 'Operator'), {});
      await account.flow();
      expect(await statusOf(account, run)).toBe('CANCELLED');
      expect(typesOf(account)).toEqual([]);
      return account;
    }

    it('is published when the bus works again, hours later, and once', async () => {
      const account = await cancelled('o-1');
      await account.passTime(20 / 24);
      await account.flow();
      expect(typesOf(account)).toEqual([]);
      account.sent.isBusDown = false;
      await account.flow();
      await account.flow();
      expect(typesOf(account)).toEqual(['Run Cancelled']);
      expect(account.deadLetters).toEqual([]);
    });

    it('goes to the dead-letter queue before the stream forgets it', async () => {
      const account = await cancelled('o-2');
      await account.passTime(23.5 / 24);
      await account.flow();
      expect(account.deadLetters.map(({ from }) => from)).toEqual(['Notify']);
    });
  });
}
