import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../account.ts';
import { deploy, readNotes, statusOf } from '../scene.ts';
import { findPlaintext } from '../stored.ts';

interface Mail {
  readonly links: readonly [{ readonly url: string }];
}

/** Every option at once: encryption at rest, encrypted runs, one tenant, JWT callers. */
export function encrypted(): void {
  describe('with keys, a tenant and JWT callers', () => {
    let account: Account;
    const ops = { claims: { groups: '[ops]', email: 'kim@example.com', email_verified: 'true' } };
    const request = (method: string, path: string, body?: object, caller: typeof ops | undefined = ops) =>
      account.http({
        method,
        url: `${account.deployed.outputs.WaitstateJwtApiUrl}${path}`,
        caller,
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
    const readRun = async (run: string) => JSON.parse((await request('GET', `/api/runs/${run}`)).body);
    const answer = (label: string) => {
      const [{ links }] = readNotes<Mail>(account, label, 'mail.jsonl') as [Mail];
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ answer: 'approve', comment: 'PLAIN-COMMENT' });
      return account.http({ method: 'POST', url: links[0].url, headers, body });
    };
    beforeAll(async () => {
      account = await deploy('everything');
    });

    it('a run completes, and the JWT caller can read it', async () => {
      const body = {
        agent: 'orders',
        id: 'o-1',
        owner: 'kim',
        input: { item: 'chair', drawing: randomBytes(15_000).toString('base64') },
      };
      const url = `${account.deployed.outputs.WaitstateJwtApiUrl}/api/runs`;
      expect((await account.http({ method: 'POST', url, body: JSON.stringify(body) })).statusCode).toBe(401);
      expect((await request('POST', '/api/runs', body)).statusCode).toBe(201);
      await account.flow();
      await account.passTime(2.1);
      expect((await account.tick('Sweep')).result).toMatchObject({ delivered: 1, failed: 0 });
      expect((await account.tick('Gauge')).error).toBeUndefined();
      await account.flow();
      expect(await statusOf(account, 'o-1', 'acme')).toBe('WAITING_FOR_APPROVAL');
      expect((await answer('Agent-orders')).statusCode).toBe(200);
      await account.flow();
      expect(await readRun('o-1')).toMatchObject({
        status: 'SUCCEEDED',
        encrypted: true,
        result: { reason: 'PLAIN-COMMENT' },
      });
    });

    it('a run of an agent in another language completes, too', async () => {
      const begin = {
        waitstate: 1,
        action: 'start',
        tenant: 'acme',
        run: 'q-1',
        agent: 'quotes',
        input: { item: 'lamp' },
      };
      expect((await account.invoke('Checkpoint', begin)).result).toMatchObject({ ok: true, isNew: true });
      await account.passTime(0.1);
      expect((await account.tick('Sweep')).result).toMatchObject({ delivered: 1, failed: 0 });
      await account.flow();
      // A process that did not start the run has to decrypt its key.
      await account.coolDown();
      expect((await answer('Quotes')).statusCode).toBe(200);
      await account.flow();
      expect(await readRun('q-1')).toMatchObject({ status: 'SUCCEEDED', result: { bought: true, letters: 4 } });
    });

    it('no AWS request was denied, and no invocation failed', () => {
      expect(account.calls.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
      expect(account.invocations.flatMap(({ error }) => error ?? [])).toEqual([]);
      expect(account.deadLetters).toEqual([]);
    });

    it('table, bucket, topic and bus contain no content in plain text', async () => {
      expect(await findPlaintext(account)).toEqual([]);
      expect(JSON.stringify(account.sent)).not.toContain('PLAIN');
    });
  });
}
