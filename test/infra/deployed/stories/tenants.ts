import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../account.ts';
import { api, callerOf, deploy, readNotes, statusOf } from '../scene.ts';

interface Mail {
  readonly links: readonly [{ readonly url: string }];
}

/** Two tenants, and agents whose roles are restricted to the first. */
export function tenants(): void {
  describe('with separate tenants', () => {
    let account: Account;
    const of = (tenant: string) => callerOf(account, `Operator-${tenant}`);
    const start = (tenant: string, agent: string, id: string) =>
      api(account, 'POST', '/api/runs', of(tenant), { agent, id, input: { item: 'chair' } });
    const denied = () => account.calls.filter(({ isAllowed }) => !isAllowed);
    beforeAll(async () => {
      account = await deploy('tenants');
    });

    it('runs complete with roles that are restricted to the keys of tenants', async () => {
      expect((await start('acme', 'orders', 'o-1')).status).toBe(201);
      expect((await start('acme', 'quotes', 'q-1')).status).toBe(201);
      await account.flow();
      expect(await statusOf(account, 'o-1', 'acme')).toBe('SLEEPING');
      const [{ links }] = readNotes<Mail>(account, 'Quotes', 'mail.jsonl') as [Mail];
      const headers = { 'content-type': 'application/json' };
      const response = await account.http({ method: 'POST', url: links[0].url, headers, body: '{"answer":"approve"}' });
      expect(response.statusCode).toBe(200);
      await account.flow();
      expect(await statusOf(account, 'q-1', 'acme')).toBe('SUCCEEDED');
      await account.passTime(2.1);
      expect((await account.tick('Sweep')).result).toMatchObject({ delivered: 1, failed: 0 });
      expect((await account.tick('Gauge')).result).toMatchObject({ RunsReady: 1 });
      await account.flow();
      expect(await statusOf(account, 'o-1', 'acme')).toBe('WAITING_FOR_APPROVAL');
      expect(denied()).toEqual([]);
    });

    it('payloads that nothing refers to are collected, tenant by tenant', async () => {
      const { s3, buckets } = account.storage;
      const [Bucket] = buckets.keys();
      for (const tenant of ['acme', 'globex']) {
        const Key = `${tenant}/r-9/invocation-0123456789abcdef`;
        await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'handed over' }));
      }
      const stored = async () => (await s3.send(new ListObjectsV2Command({ Bucket }))).KeyCount ?? 0;
      const before = await stored();
      expect((await account.tick('Sweep', 'Collection')).result).toMatchObject({ payloadsRemoved: 2, failed: 0 });
      expect(await stored()).toBe(before - 2);
      expect(denied()).toEqual([]);
    });

    it('an agent does not exist for the other tenant, and its role denies access to its runs', async () => {
      expect(await start('globex', 'orders', 'o-2')).toMatchObject({ status: 404, json: { code: 'AGENT_NOT_FOUND' } });
      await account.invoke('Agent-orders', { run: 'o-2', tenant: 'globex' });
      const [failed] = account.invocations.filter(({ error }) => error);
      expect(failed).toMatchObject({ label: 'Agent-orders', error: { code: 'STORAGE_DENIED' } });
      expect(failed?.error?.errorMessage).toMatch(/allow dynamodb:\w+ on the DynamoDB table/);
      expect(new Set(denied().map(({ by }) => by))).toEqual(new Set(['Agent-orders']));
    });

    it.each([
      ['Checkpoint-acme', 'globex'],
      ['Checkpoint', 'initech'],
    ])('%s refuses requests for tenant %s', async (label, tenant) => {
      const request = { waitstate: 1, action: 'start', tenant, run: 'x', agent: 'quotes' };
      const { result, lines } = await account.invoke(label, request);
      expect(result).toMatchObject({ ok: false, error: { code: 'STORAGE_DENIED' } });
      expect(lines.join()).toMatch(/allow dynamodb:\w+ on the DynamoDB table/);
      const [TableName = ''] = account.storage.tables.keys();
      const { Items = [] } = await account.storage.client.send(new ScanCommand({ TableName }));
      expect(Items.filter(({ pk }) => pk?.S === `${tenant}/x`)).toEqual([]);
    });

    it('each tenant sees only its own runs', async () => {
      const listed = async (tenant: string) =>
        (await api(account, 'GET', '/api/runs', of(tenant))).json.runs.map(({ run }: { run: string }) => run);
      expect(new Set(await listed('acme'))).toEqual(new Set(['o-1', 'q-1']));
      expect(await listed('globex')).toEqual([]);
      expect((await api(account, 'GET', '/api/runs/o-1', of('globex'))).status).toBe(404);
    });
  });
}
