import { DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../account.ts';
import { api, callerOf, deploy, readNotes, statusOf } from '../scene.ts';

interface Mail {
  readonly to: string;
  readonly text: string;
}

const BOOKS = 'waitstate/examples';

/** The rows that a simulated service of the example wrote to its table. */
async function exampleRows(account: Account, service: string): Promise<readonly Record<string, unknown>[]> {
  const { EXAMPLES_TABLE: TableName } = account.named('Agent-refunds').variables;
  const query = { TableName, KeyConditionExpression: 'service = :s', ExpressionAttributeValues: { ':s': service } };
  const { Items = [] } = await DynamoDBDocumentClient.from(account.storage.client).send(new QueryCommand(query));
  return Items;
}

/** A run of the example from start to end. */
export function wholeStory(): void {
  describe('a run of the example', () => {
    let account: Account;
    const links = (): readonly Mail[] => readNotes(account, 'Agent-refunds', `${BOOKS}/mail.jsonl`);
    beforeAll(async () => {
      account = await deploy('plain');
    });

    it('can be started only by a role with the grant', async () => {
      const start = (caller?: string) =>
        api(account, 'POST', '/api/runs', caller === undefined ? undefined : callerOf(account, caller), {
          agent: 'refunds',
          id: 'r-1',
          input: { order: 'o-17', reason: 'The left side is silent.' },
        });
      for (const caller of [undefined, 'Viewer', 'Portal']) expect((await start(caller)).status).toBe(403);
      expect(account.invocations).toEqual([]);
      expect(await start('Shop')).toMatchObject({ status: 201, json: { run: 'r-1', isNew: true } });
    });

    it('reaches its agent through the stream, suspends, and causes notifications', async () => {
      await account.flow();
      expect(account.invocations.flatMap(({ error }) => error ?? [])).toEqual([]);
      expect(await statusOf(account, 'r-1')).toBe('WAITING_FOR_APPROVAL');
      expect(account.sent.messages).toMatchObject([{ subject: 'Approval Requested: Refund $80 to customer 4?' }]);
      expect(account.sent.messages[0]?.topic).toBe(account.named('Notify').variables.WAITSTATE_TOPIC);
      expect(account.sent.events).toMatchObject([
        { type: 'Approval Requested', detail: { run: 'r-1', agent: 'refunds', approvers: ['group:finance'] } },
      ]);
      expect(links().map(({ to }) => to)).toEqual(['user:ann', 'user:bob']);
    });

    it('shows its approval only to holders of a link', async () => {
      const [{ text: link }] = links() as [Mail];
      expect(link).toMatch(`${account.deployed.outputs.WaitstateApiUrl}/approvals/`);
      const page = await account.http({ method: 'GET', url: link, headers: { accept: 'text/html' } });
      expect(page).toMatchObject({ statusCode: 200, headers: { 'content-type': 'text/html; charset=UTF-8' } });
      expect(page.body).toContain('Refund $80 to customer 4?');
      for (const path of ['/console', '/console/runs/r-1', '/api/runs/r-1', '/api/approvals'])
        expect((await api(account, 'GET', path)).status).toBe(403);
      expect((await account.http({ method: 'PUT', url: link })).statusCode).toBe(404);
    });

    it('resumes after two decisions, one with the form and one with JSON', async () => {
      const [ann, bob] = links() as [Mail, Mail];
      const form = await account.http({
        method: 'POST',
        url: ann.text,
        body: 'answer=approve&comment=PLAIN-COMMENT',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
      });
      expect(form).toMatchObject({ statusCode: 303, headers: { location: '?decided=true' } });
      const json = await account.http({
        method: 'POST',
        url: bob.text,
        body: '{"answer":"approve","edits":{"amount":50}}',
        headers: { 'content-type': 'application/json' },
      });
      expect(json.statusCode).toBe(200);
      await account.flow();
      // The approval of ann does not cover the changes of bob.
      const { approval } = JSON.parse(json.body) as { approval: { contentHash: string } };
      expect(approval).toMatchObject({ status: 'PENDING', proposal: { by: 'user:bob', edits: { amount: 50 } } });
      const again = await account.http({
        method: 'POST',
        url: ann.text,
        body: JSON.stringify({ answer: 'approve', contentHash: approval.contentHash }),
        headers: { 'content-type': 'application/json' },
      });
      expect(again.statusCode).toBe(200);
      await account.flow();
      const run = await api(account, 'GET', '/api/runs/r-1', callerOf(account, 'Viewer'));
      expect(run.json).toMatchObject({ status: 'SUCCEEDED', result: { refunded: true, paid: 50 } });
      expect(await exampleRows(account, 'bank')).toMatchObject([{ what: 'refund of o-17', amount: 50 }]);
      // The transaction that recorded the payment wrote these rows, too.
      expect(await exampleRows(account, 'receipts')).toMatchObject([{ key: 'r-1', paid: 50, order: { id: 'o-17' } }]);
      expect(await exampleRows(account, 'stock')).toMatchObject([{ key: 'Headphones', returned: 1 }]);
      expect(account.sent.events.map(({ type }) => type)).toEqual([
        'Approval Requested',
        'Approval Changed',
        'Run Succeeded',
      ]);
    });

    it('leaves no link, token or comment in logs, messages and events', () => {
      const { invocations, sent } = account;
      const output = JSON.stringify([invocations.map(({ lines }) => lines), sent]);
      for (const { text } of links().slice(0, 2)) expect(output).not.toContain(text.split('/').at(-1));
      expect(output).not.toContain('PLAIN-COMMENT');
    });

    it('needs only four functions, whose roles allow all of their requests', () => {
      expect(account.calls.filter(({ isAllowed }) => !isAllowed)).toEqual([]);
      expect(account.deadLetters).toEqual([]);
      expect(new Set(account.calls.map(({ by }) => by))).toEqual(new Set(['Api', 'Resume', 'Notify', 'Agent-refunds']));
    });
  });
}
