import { DeleteObjectsCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodePathId } from '../../../../lambda/http/path-id.ts';
import type { Account } from '../account.ts';
import { metricsIn } from '../metrics.ts';
import { api, callerOf, deploy, readNotes, statusOf } from '../scene.ts';
import { findPlaintext, PLAIN } from '../stored.ts';

/** A run that sleeps, waits for an approval with a reminder, ends, and expires. */
export function overTime(): void {
  describe('a run that takes days', () => {
    let account: Account;
    const get = async (path: string, caller = 'Viewer') => api(account, 'GET', path, callerOf(account, caller));
    const status = () => statusOf(account, 'o-1');
    const measure = async () => {
      const { lines, result } = await account.tick('Gauge');
      return { result, written: Object.fromEntries(metricsIn(lines).map(({ metric, value }) => [metric, value])) };
    };
    const mails = () => readNotes<{ kind: string }>(account, 'Agent-orders', 'mail.jsonl').map(({ kind }) => kind);
    beforeAll(async () => {
      account = await deploy('plain');
    });

    it('sleeps until the sweeper wakes it when its timer is due', async () => {
      const body = { agent: 'orders', id: 'o-1', input: { item: 'chair' } };
      expect((await api(account, 'POST', '/api/runs', callerOf(account, 'Shop'), body)).status).toBe(201);
      await account.flow();
      expect(await status()).toBe('SLEEPING');
      expect((await measure()).written).toMatchObject({ RunsSleeping: 1, RunsReady: 0, OldestReadySeconds: 0 });
      await account.passTime(1);
      expect((await account.tick('Sweep')).result).toMatchObject({ delivered: 0 });
      await account.passTime(1.1);
      expect((await account.tick('Sweep')).result).toMatchObject({ delivered: 1, failed: 0 });
      await account.flow();
      expect(await status()).toBe('WAITING_FOR_APPROVAL');
      expect(mails()).toEqual(['requested']);
    });

    it('is measured while it waits, and a reminder is sent', async () => {
      await account.passTime(1.5);
      expect((await account.tick('Sweep')).result).toMatchObject({ approvals: 2, failed: 0 });
      await account.flow();
      expect(mails()).toEqual(['requested', 'reminder']);
      await account.passTime(1);
      const { written, result } = await measure();
      expect(written).toEqual(result);
      expect(written).toMatchObject({ RunsSleeping: 0, RunsWaitingForApproval: 1, ApprovalsDueSoon: 1 });
      expect(written.OldestApprovalSeconds).toBeGreaterThan(2 * 86_400);
    });

    it('appears in the inbox of a portal, which decides on behalf of the approver', async () => {
      const { json } = await get('/api/approvals?person=user:ann', 'Portal');
      expect(json.approvals).toMatchObject([{ run: 'o-1', title: 'PLAIN-TITLE: buy chair?', status: 'PENDING' }]);
      const path = `/api/runs/o-1/approvals/${encodePathId(json.approvals[0].id)}`;
      const body = { answer: 'approve', by: 'user:ann', comment: 'PLAIN-COMMENT' };
      expect((await get(path, 'Portal')).status).toBe(200);
      expect(await api(account, 'POST', `${path}/decide`, callerOf(account, 'Portal'), body)).toMatchObject({
        status: 200,
      });
      await account.flow();
      const { json: run } = await get('/api/runs/o-1');
      expect(run).toMatchObject({ status: 'SUCCEEDED', result: { bought: true, reason: 'PLAIN-COMMENT' } });
    });

    it('ran each step once, and appears in all lists and in the console', async () => {
      for (const file of ['offers', 'bought'])
        expect(readNotes(account, 'Agent-orders', `${file}.jsonl`)).toEqual(['chair']);
      expect((await get('/api/runs?status=SUCCEEDED')).json.runs).toMatchObject([{ run: 'o-1' }]);
      expect((await get('/api/counts')).json).toMatchObject({ SUCCEEDED: { count: 1 } });
      expect((await get('/api/runs/o-1/checkpoints/name:offered')).json).toMatchObject({ name: 'offered' });
      for (const path of ['/console/runs', '/console/runs/o-1']) {
        const url = `${account.deployed.outputs.WaitstateApiUrl}${path}`;
        const page = await account.http({ method: 'GET', url, caller: callerOf(account, 'Viewer') });
        expect(page.statusCode).toBe(200);
        expect(page.body).toContain('o-1');
      }
    });

    it('is readable in table and bucket, because there are no keys', async () => {
      expect(await findPlaintext(account)).toEqual(PLAIN);
    });

    it('reports a missing payload as DAMAGED, not as denied', async () => {
      const { s3, buckets } = account.storage;
      const [Bucket] = buckets.keys();
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
      const Objects = Contents.map(({ Key }) => ({ Key }));
      await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
      expect((await get('/api/runs/o-1/checkpoints/latest')).json).toMatchObject({ code: 'DAMAGED' });
      for (const { Key } of Objects) await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'something' }));
    });

    it('is deleted with its payloads after its retention', async () => {
      const { s3, buckets } = account.storage;
      const [Bucket] = buckets.keys();
      const stored = async () => (await s3.send(new ListObjectsV2Command({ Bucket }))).KeyCount;
      expect(await stored()).toBeGreaterThan(0);
      await account.passTime(91);
      expect((await account.tick('Sweep')).result).toMatchObject({ expired: 1, failed: 0 });
      expect(await stored()).toBe(0);
      expect((await get('/api/runs/o-1')).status).toBe(410);
      expect(account.calls.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
    });
  });
}
