import { CreateTableCommand, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { dynamoClient } from '../engines/engines.ts';
import { exampleOf, freshServices } from './simulated.ts';

const client = dynamoClient();
const documents = DynamoDBDocumentClient.from(client);
let tables = 0;
let TableName = '';

freshServices();

beforeEach(async () => {
  TableName = `${inject('testRun')}-examples-${process.pid}-${++tables}`;
  const keys = ['service', 'key'] as const;
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: keys.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      KeySchema: keys.map((AttributeName, i) => ({ AttributeName, KeyType: i === 0 ? 'HASH' : 'RANGE' })),
    }),
  );
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1 }, { TableName });
  const { hostname, port, protocol } = (await client.config.endpoint?.()) ?? {};
  const { accessKeyId, secretAccessKey } = await client.config.credentials();
  for (const [name, value] of Object.entries({
    AWS_ENDPOINT_URL_DYNAMODB: `${protocol}//${hostname}:${port}`,
    AWS_REGION: await client.config.region(),
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    EXAMPLES_TABLE: TableName,
    WAITSTATE_TABLE: 'for the check of `transact` only',
    WAITSTATE_BUCKET: 'the same',
  }))
    vi.stubEnv(name, value);
  // The modules read the environment when they are loaded.
  vi.resetModules();
});

/** The rows of a service, without its name. */
async function rowsOf(service: string): Promise<readonly Record<string, unknown>[]> {
  const query = { TableName, KeyConditionExpression: 'service = :s', ExpressionAttributeValues: { ':s': service } };
  const { Items = [] } = await documents.send(new QueryCommand({ ...query, ConsistentRead: true }));
  return Items.map(({ service: _, ...row }) => row);
}

describe('an example with a DynamoDB table', () => {
  it('pays a refund and books it once, wherever its process dies', async () => {
    const { testAgents } = await import('waitstate/testing');
    const { awsStorage } = await import('../engines/engines.ts');
    const { refunds } = await import('../../examples/refunds/agent.ts');
    const world = testAgents(refunds, { storage: await awsStorage(), deliverTwice: true });
    const refund = async (id: string) => {
      const run = await world.start(exampleOf(refunds), { id });
      for (const by of ['user:ann', 'user:bob'] as const) await run.approve('refund', { by });
      expect(await run.result()).toMatchObject({ refunded: true, paid: 80 });
    };
    world.crash({ before: 'pay' });
    world.crash({ after: 'pay' });
    world.crash({ recorded: 'pay' });
    await refund('first');
    expect(world.invocations.filter(({ end }) => end === 'failed')).toHaveLength(3);
    expect(await rowsOf('bank')).toEqual([{ key: expect.any(String), what: 'refund of o-17', amount: 80 }]);
    expect(await rowsOf('receipts')).toEqual([
      {
        key: 'first',
        order: { id: 'o-17', customer: 'customer 4', bought: 'Headphones', total: 80 },
        paid: 80,
      },
    ]);
    expect(await rowsOf('stock')).toEqual([{ key: 'Headphones', returned: 1 }]);
    await refund('second');
    expect(await rowsOf('stock')).toEqual([{ key: 'Headphones', returned: 2 }]);
  });

  it('books a trip, and cancels the ticket when the hotel is full', async () => {
    const { testAgents } = await import('waitstate/testing');
    const { travel } = await import('../../examples/travel/agent.ts');
    const run = await testAgents(travel).start({ ...exampleOf(travel), to: 'Lisbon', hotel: 'Full House' });
    await run.approve('book', { by: 'user:ann' });
    await expect(run.result()).rejects.toThrow('Full House has no room left.');
    const amounts = (await rowsOf('airline')).map(({ amount }) => Number(amount));
    expect(amounts.toSorted((a, b) => a - b)).toEqual([-240, 0.4, 0.4, 240]);
    expect(await rowsOf('hotel')).toEqual([]);
  });

  it('keeps the first entry of a key in its ledger', async () => {
    const { createLedger } = await import('../../examples/simulated/create-ledger.ts');
    const bank = createLedger('bank');
    const amounts = await Promise.all([1, 2, 3].map((amount) => bank.record({ key: 'k', what: 'refund', amount })));
    const [{ amount } = {}] = amounts;
    expect(amounts).toMatchObject([{ amount }, { amount }, { amount }]);
    expect(await bank.record({ key: 'k', what: 'refund', amount: 9 })).toMatchObject({ amount });
    expect(await bank.entries()).toMatchObject([{ key: 'k', what: 'refund', amount }]);
    expect(await createLedger('other').entries()).toEqual([]);
  });
});
