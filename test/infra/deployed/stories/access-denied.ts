import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../account.ts';
import { metricsIn } from '../metrics.ts';
import { api, callerOf, deploy, statusOf } from '../scene.ts';
import { without } from '../without.ts';

/** Roles with missing permissions: errors name the permission, and nothing is lost. */
export function accessDenied(): void {
  describe('with a role that lacks a permission', () => {
    it('the API returns STORAGE_DENIED and logs the permission to allow', async () => {
      const account = await deploy('plain', without('Api', 'dynamodb:PutItem'));
      const body = { agent: 'quotes', id: 'q-1', input: { item: 'lamp' } };
      const { status, json } = await api(account, 'POST', '/api/runs', callerOf(account, 'Shop'), body);
      expect([status, json.code]).toEqual([500, 'STORAGE_DENIED']);
      const lines = account.invocations.flatMap((each) => each.lines).join();
      expect(lines).toMatch(/Access denied: allow dynamodb:PutItem on the DynamoDB table/);
    });

    describe('to deliver, to store and to notify', () => {
      let account: Account;
      const counted = (metric: string) =>
        account.invocations.flatMap(({ lines }) => metricsIn(lines)).filter((each) => each.metric === metric).length;
      beforeAll(async () => {
        account = await deploy('plain', (template) =>
          [
            without('Resume', 'lambda:InvokeFunction'),
            without('Agent-orders', 's3:PutObject'),
            without('Notify', 'sns:Publish'),
          ].reduce((edited, remove) => remove(edited), template),
        );
      });

      it('undelivered runs stay due, and their records go to the dead-letter queue', async () => {
        for (const agent of ['orders', 'quotes'])
          await api(account, 'POST', '/api/runs', callerOf(account, 'Shop'), {
            agent,
            id: agent,
            input: { item: 'lamp' },
          });
        await account.flow();
        // `resume` claimed one of them for its agent and released it, so its lease has ended.
        expect([await statusOf(account, 'orders'), await statusOf(account, 'quotes')]).toEqual(['READY', 'RUNNING']);
        expect(account.deadLetters.map(({ from }) => from)).toEqual(['Resume', 'Resume']);
        expect(counted('DeliveryFailed')).toBe(5);
      });

      it('the sweeper delivers them, and a run that cannot store its payload is kept', async () => {
        await account.passTime(0.1);
        expect((await account.tick('Sweep')).result).toMatchObject({ delivered: 2, failed: 0 });
        await account.flow();
        const failed = account.invocations.filter(({ label, error }) => label === 'Agent-orders' && error);
        expect(failed[0]).toMatchObject({ error: { code: 'STORAGE_DENIED' } });
        expect(failed[0]?.error?.errorMessage).toMatch(/allow s3:PutObject on the S3 bucket/);
        expect(['READY', 'RUNNING']).toContain(await statusOf(account, 'orders'));
      });

      it('the sweeper sends the failed notifications', async () => {
        expect(await statusOf(account, 'quotes')).toBe('WAITING_FOR_APPROVAL');
        expect([counted('NotificationFailed'), account.sent.messages]).toEqual([expect.any(Number), []]);
        expect(counted('NotificationFailed')).toBeGreaterThan(0);
        await account.passTime(0.1);
        expect((await account.tick('Sweep')).result).toMatchObject({ approvals: 1 });
        expect(account.sent.messages).toMatchObject([{ subject: expect.stringContaining('Buy lamp?') }]);
      });
    });
  });
}
