import { DynamoDBClient, QueryCommand, type QueryCommandInput } from '@aws-sdk/client-dynamodb';
import { type AwsRetryOptions, createAwsCall } from '../aws/aws-calls.ts';
import { decodeCursor } from '../paging.ts';
import type { Page, PageOptions, RecordStore, StoredRecord } from '../ports.ts';
import { clockDifference, withClockDifference } from './clock-difference.ts';
import { createCommit } from './commit.ts';
import type { DynamoClient } from './dynamo-client.ts';
import { type Item, textAttribute, toListedRecordIfValid, toRecord } from './items.ts';
import { LISTS } from './lists.ts';
import { createRead } from './read.ts';

export interface DynamoRecordStoreOptions extends AwsRetryOptions {
  readonly table: string;
  /**
   * Your own client, which you close yourself; a DynamoDBDocumentClient works too.
   * @default a client from the environment, created on first use
   */
  readonly client?: DynamoClient;
  /** The clock that is compared with that of DynamoDB. @default Date.now */
  readonly clock?: () => number;
}

/** Records in one DynamoDB table, as `TABLE` defines it. */
export function dynamoRecordStore({
  table,
  client,
  clock = Date.now,
  ...retries
}: DynamoRecordStoreOptions): RecordStore {
  let ownClient: DynamoDBClient | undefined;
  const difference = clockDifference();
  const call = createAwsCall(() => {
    if (!client) ownClient = new DynamoDBClient(CLIENT_CONFIG);
    return withClockDifference((client ?? ownClient) as DynamoClient, difference, clock);
  }, retries);
  const resource = `DynamoDB table "${table}"`;

  async function queryPage(
    target: string,
    mode: QueryMode,
    group: QueryGroup,
    options: PageOptions = {},
  ): Promise<Page> {
    const input = toQuery(group, options);
    if (!input) return { records: [] };
    const response = await call({ resource: target, actions: ['dynamodb:Query'] }, (client) =>
      client.send(new QueryCommand({ TableName: table, ...mode, ...input })),
    );
    return toPage(response, group, mode.IndexName ? toListedRecordIfValid : toRecord);
  }

  return {
    maxInlineBytes: 8192,
    compressesSmallBodies: true,
    supportsForeignWrites: true,
    table,
    removesExpired: true,
    clockAheadMs: difference.aheadMs,

    read: createRead(call, table, resource),

    range: (partition, options) => queryPage(resource, { ConsistentRead: true }, ['pk', partition, 'sk'], options),

    list(list, value, options) {
      const { index, group, order } = LISTS[list];
      const target = `index "${index}" of the ${resource}`;
      return queryPage(target, { IndexName: index }, [group, value, order, 'pk', 'sk'], options);
    },

    commit: createCommit(call, table, resource),

    async close() {
      ownClient?.destroy();
    },
  };
}

type QueryMode = Pick<QueryCommandInput, 'IndexName' | 'ConsistentRead'>;

/** Items with one value in an attribute, and the attributes that order them; bounds apply to the first of these. */
type QueryGroup = readonly [attribute: string, value: string, order: string, ...orders: string[]];

/** Only the adapter retries, so it knows of every attempt. The timeouts detect a dead connection within seconds. */
const CLIENT_CONFIG = {
  maxAttempts: 1,
  requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
};

/** The query for a page; undefined for empty bounds, which DynamoDB rejects. */
function toQuery(
  [attribute, value, ...sortAttributes]: QueryGroup,
  { from, to, newestFirst, limit, after }: PageOptions,
) {
  // Keys and orders are printable ASCII, so all of them are between these bounds. DynamoDB rejects an empty bound too.
  const [first, last] = [from || ' ', to ?? '\x7f'];
  if (first > last) return undefined;
  const start = after === undefined ? undefined : decodeCursor(after, sortAttributes.length);
  return {
    KeyConditionExpression: '#g = :g AND #o BETWEEN :from AND :to',
    ExpressionAttributeNames: { '#g': attribute, '#o': sortAttributes[0] },
    ExpressionAttributeValues: { ':g': { S: value }, ':from': { S: first }, ':to': { S: last } },
    ScanIndexForward: !newestFirst,
    ...(limit !== undefined && { Limit: Math.max(1, limit) }),
    ...(start && {
      ExclusiveStartKey: {
        [attribute]: { S: value },
        ...Object.fromEntries(sortAttributes.map((name, index) => [name, { S: start[index] ?? '' }])),
      },
    }),
  };
}

function toPage(
  { Items = [], LastEvaluatedKey: last }: { Items?: Item[] | undefined; LastEvaluatedKey?: Item | undefined },
  [, , ...sortAttributes]: QueryGroup,
  toStored: (item: Item) => StoredRecord | [],
): Page {
  const cursor = last && JSON.stringify(sortAttributes.map((name) => textAttribute(last, name)));
  return { records: Items.flatMap(toStored), ...(cursor && { next: Buffer.from(cursor).toString('base64url') }) };
}
