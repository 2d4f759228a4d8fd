import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import type { ListName } from '../ports.ts';

/** Where the table keeps each list: an index, and the attributes that hold a record's group and order there. */
export const LISTS = {
  status: { index: 'status', group: 'sg', order: 'so' },
  owner: { index: 'owner', group: 'og', order: 'oo' },
  due: { index: 'due', group: 'dg', order: 'do' },
} as const satisfies Record<ListName, { index: string; group: string; order: string }>;

/**
 * The table of a record store, whatever its name: `pk` and `sk` are the key, `r` the revision, `m` the meta, `b` the body.
 * A record that is in no list costs nothing there, because an index holds only items that have its attributes.
 */
export const TABLE = {
  BillingMode: 'PAY_PER_REQUEST',
  KeySchema: keySchema('pk', 'sk'),
  AttributeDefinitions: ['pk', 'sk', ...Object.values(LISTS).flatMap(({ group, order }) => [group, order])].map(
    (AttributeName) => ({ AttributeName, AttributeType: 'S' as const }),
  ),
  GlobalSecondaryIndexes: Object.values(LISTS).map(({ index, group, order }) => ({
    IndexName: index,
    KeySchema: keySchema(group, order),
    Projection: { ProjectionType: 'INCLUDE' as const, NonKeyAttributes: ['m', 'r'] },
  })),
} as const satisfies Omit<CreateTableCommandInput, 'TableName'>;

function keySchema(hash: string, range: string) {
  return [
    { AttributeName: hash, KeyType: 'HASH' as const },
    { AttributeName: range, KeyType: 'RANGE' as const },
  ];
}
