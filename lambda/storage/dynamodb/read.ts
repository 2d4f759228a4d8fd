import { BatchGetItemCommand, GetItemCommand } from '@aws-sdk/client-dynamodb';
import type { AwsCall } from '../aws/aws-calls.ts';
import { toAwsError } from '../aws/classify-aws-error.ts';
import type { RecordStore } from '../ports.ts';
import type { DynamoClient } from './dynamo-client.ts';
import { type Item, primaryKey, toRecord } from './items.ts';

const BATCH_KEYS = 100;

/** The `read` of a record store: the records that there are, in the order of the keys, each once. */
export function createRead(call: AwsCall<DynamoClient>, table: string, resource: string): RecordStore['read'] {
  const one = async (Key: Item): Promise<Item[]> => {
    const { Item } = await call({ resource, actions: ['dynamodb:GetItem'] }, (client) =>
      client.send(new GetItemCommand({ TableName: table, Key, ConsistentRead: true })),
    );
    return Item ? [Item] : [];
  };

  const batch = (keys: Item[]): Promise<Item[]> => {
    const items: Item[] = [];
    let pending = keys;
    return call({ resource, actions: ['dynamodb:BatchGetItem'] }, async (client) => {
      while (pending.length > 0) {
        const asked = { [table]: { Keys: pending, ConsistentRead: true } };
        const answer = await client.send(new BatchGetItemCommand({ RequestItems: asked }));
        items.push(...(answer.Responses?.[table] ?? []));
        const left = answer.UnprocessedKeys?.[table]?.Keys ?? [];
        // An answer ends at 16 MB, and then goes on at once; one that brought nothing was throttled.
        if (left.length === pending.length) throw toAwsError('ThrottlingError', 'All keys came back unprocessed');
        pending = left;
      }
      return items;
    });
  };

  return async (partition, keys) => {
    const unique = [...new Set(keys)];
    const wanted = unique.map((key) => primaryKey({ partition, key }));
    const [only] = wanted;
    const batches = Array.from({ length: Math.ceil(wanted.length / BATCH_KEYS) }, (_, at) =>
      wanted.slice(at * BATCH_KEYS, (at + 1) * BATCH_KEYS),
    );
    const items = only && wanted.length === 1 ? await one(only) : (await Promise.all(batches.map(batch))).flat();
    const byKey = new Map(items.map((item) => [item.sk?.S, toRecord(item)]));
    return unique.flatMap((key) => byKey.get(key) ?? []);
  };
}
