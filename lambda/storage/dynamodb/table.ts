import type { CreateTableCommandInput, StreamSpecification, TimeToLiveSpecification } from '@aws-sdk/client-dynamodb';
import { LISTS } from './lists.ts';

/**
 * The definition of the table, without its name: `pk` and `sk` are the key, `r` the revision, `m` the metadata, `b` the
 * body, `x` the expiry. Indexes are sparse, so a record costs nothing in lists that it is not in.
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

/** The time to live of the table. Without it, expired approval links, shared results and signals are never deleted. */
export const TIME_TO_LIVE = { AttributeName: 'x', Enabled: true } as const satisfies TimeToLiveSpecification;

/** The stream that delivers runs to their agents. */
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
