import { BatchGetItemCommand, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { AwsCall } from '../aws/aws-calls.ts';
import { toAwsError } from '../aws/classify-aws-error.ts';
import type { RecordStore } from '../ports.ts';
import type { DynamoClient } from './dynamo-client.ts';
import { type Item, primaryKey, toRecord } from './items.ts';

const MAX_BATCH_KEYS = 100;

/** The `read` of a record store: the existing records in the order of the keys, without duplicates. */
export function createRead(call: AwsCall<DynamoClient>, table: string, resource: string): RecordStore['read'] {
  const readOne = async (Key: Item): Promise<Item[]> => {
    const { Item } = await call({ resource, actions: ['dynamodb:GetItem'] }, (client) =>
      client.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true })),
    );
    return Item ? [Item] : [];
  };

  const readBatch = (keys: Item[]): Promise<Item[]> => {
    const items: Item[] = [];
    let pending = keys;
    return call({ resource, actions: ['dynamodb:BatchGetItem'] }, async (client) => {
      while (pending.length > 0) {
        const request = { [table]: { Keys: pending, ConsistentRead: true } };
        const response = await client.send(new BatchGetItemCommand({ RequestItems: request }));
        items.push(...(response.Responses?.[table] ?? []));
        const unprocessed = response.UnprocessedKeys?.[table]?.Keys ?? [];
        // A response ends at 16 MB; the rest is requested immediately. A response without any item was throttled.
        if (unprocessed.length === pending.length)
          throw toAwsError('ThrottlingError', 'All keys were returned unprocessed');
        pending = unprocessed;
      }
      return items;
    });
  };

  return async (partition, keys) => {
    const unique = [...new Set(keys)];
    const itemKeys = unique.map((key) => primaryKey({ partition, key }));
    const [only] = itemKeys;
    const batches = Array.from({ length: Math.ceil(itemKeys.length / MAX_BATCH_KEYS) }, (_, index) =>
      itemKeys.slice(index * MAX_BATCH_KEYS, (index + 1) * MAX_BATCH_KEYS),
    );
    const items =
      only && itemKeys.length === 1 ? await readOne(only) : (await Promise.all(batches.map(readBatch))).flat();
    const byKey = new Map(items.map((item) => [item.sk?.S, toRecord(item)]));
    return unique.flatMap((key) => byKey.get(key) ?? []);
  };
}
