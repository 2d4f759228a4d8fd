import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../account.ts';
import { api, callerOf, deploy, readNotes, statusOf } from '../scene.ts';

interface Mail {
  readonly links: readonly [{ readonly person: string; readonly url: string }];
}

/** A run of an agent that uses only the JSON protocol. */
export function otherLanguage(): void {
  describe('a run of an agent in another language', () => {
    let account: Account;
    beforeAll(async () => {
      account = await deploy('plain');
    });

    it('is claimed and hydrated by the sweeper, with a URL because its input is large', async () => {
      const body = { agent: 'quotes', id: 'q-1', owner: 'kim', input: { item: randomBytes(150_000).toString('hex') } };
      expect((await api(account, 'POST', '/api/runs', callerOf(account, 'Operator'), body)).status).toBe(201);
      await account.passTime(1);
      expect((await account.tick('Sweep')).result).toMatchObject({ delivered: 1, failed: 0 });
      await account.flow();
      const [invocation] = account.invocations.filter(({ label }) => label === 'Quotes');
      expect(invocation?.event).toMatchObject({
        waitstate: 1,
        run: 'q-1',
        contentUrl: expect.stringContaining('X-Amz-'),
      });
      expect(await statusOf(account, 'q-1')).toBe('WAITING_FOR_APPROVAL');
      expect(readNotes<Mail>(account, 'Quotes', 'mail.jsonl').map(({ links }) => links[0].person)).toEqual([
        'user:ann',
      ]);
    });

    it('resumes with the decision and finishes through the function checkpoint', async () => {
      const [{ links }] = readNotes<Mail>(account, 'Quotes', 'mail.jsonl') as [Mail];
      const response = await account.http({
        method: 'POST',
        url: links[0].url,
        body: '{"answer":"approve"}',
        headers: { 'content-type': 'application/json' },
      });
      expect(response.statusCode).toBe(200);
      await account.flow();
      const run = await api(account, 'GET', '/api/runs/q-1', callerOf(account, 'Viewer'));
      expect(run.json).toMatchObject({ status: 'SUCCEEDED', owner: 'kim', result: { bought: true, letters: 300_000 } });
      expect(readNotes(account, 'Quotes', 'bought.jsonl')).toEqual(['q-1']);
    });

    it('accessed table and bucket only through the functions of Waitstate', () => {
      const quotes = account.calls.filter(({ by }) => by === 'Quotes');
      expect(new Set(quotes.map(({ service }) => service))).toEqual(new Set(['lambda']));
      expect(account.calls.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
      expect(account.invocations.flatMap(({ error }) => error ?? [])).toEqual([]);
      expect(account.deadLetters).toEqual([]);
    });
  });
}
