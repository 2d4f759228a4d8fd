import { type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { LISTS } from '../lambda/storage/dynamodb/lists.ts';
import { itemBytes, type WireItem } from './item-size.ts';

/** What DynamoDB bills for each item and each index entry, in addition to its bytes. */
export const OVERHEAD_BYTES = 100;

/** The billed storage of a partition: its items and their index entries. */
export async function storedBytes(client: DynamoDBClient, TableName: string, partition: string): Promise<number> {
  const { Items = [] } = await client.send(
    new QueryCommand({
      TableName,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': { S: partition } },
    }),
  );
  const bytes = Items.map((found) => {
    const item = Object.fromEntries(
      Object.entries(found).map(([name, { B, ...rest }]) => [
        name,
        B ? { B: Buffer.from(B).toString('base64') } : rest,
      ]),
    );
    return itemBytes(item) + OVERHEAD_BYTES + indexBytes(item);
  });
  if (bytes.length === 0) throw new Error(`Expected items in partition "${partition}"; found none.`);
  return bytes.reduce((all, each) => all + each, 0);
}

function indexBytes(item: WireItem): number {
  const entries = Object.values(LISTS).map(({ group, order }) => {
    if (!item[group]) return 0;
    const names = ['pk', 'sk', 'm', 'r', group, order];
    return (
      itemBytes(Object.fromEntries(names.flatMap((name) => (item[name] ? [[name, item[name]]] : [])))) + OVERHEAD_BYTES
    );
  });
  return entries.reduce((all, each) => all + each, 0);
}
