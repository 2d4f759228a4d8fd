import type { CreateTableCommandInput, StreamSpecification, TimeToLiveSpecification } from '@aws-sdk/client-dynamodb';
import { LISTS } from './lists.ts';

/**
 * The table of a record store, whatever its name: `pk` and `sk` are the key, `r` the revision, `m` the meta, `b` the
 * body, `x` when it may go. A record that is in no list costs nothing there, because an index holds only items that have its attributes.
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

/** The time to live of the table. Without it nothing is lost, but expired links, shared results and signals stay. */
export const TIME_TO_LIVE = { AttributeName: 'x', Enabled: true } as const satisfies TimeToLiveSpecification;

/** The stream that delivers durable runs. */
export const STREAM = {
  StreamEnabled: true,
  StreamViewType: 'NEW_AND_OLD_IMAGES',
} as const satisfies StreamSpecification;

function keySchema(hash: string, range: string) {
  return [
    { AttributeName: hash, KeyType: 'HASH' as const },
    { AttributeName: range, KeyType: 'RANGE' as const },
  ];
}
