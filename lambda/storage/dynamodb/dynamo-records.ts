import { DynamoDBClient, QueryCommand, type QueryCommandInput } from '@aws-sdk/client-dynamodb';
import { type AwsRetries, awsCalls } from '../aws-calls.ts';
import { positionIn } from '../paging.ts';
import type { Page, PageOptions, RecordStore, StoredRecord } from '../ports.ts';
import { commitWith } from './commit.ts';
import { type Item, text, toListed, toRecord } from './items.ts';
import { LISTS } from './lists.ts';
import { readWith } from './read.ts';

export interface DynamoRecordStoreOptions extends AwsRetries {
  readonly table: string;
  /**
   * A DynamoDBDocumentClient works too. The caller closes what it passes. @default one made from the environment on
   * first use
   */
  readonly client?: DynamoClient;
}

export type DynamoClient = Pick<DynamoDBClient, 'send' | 'config'>;

/** Records in one DynamoDB table, as `TABLE` defines it. */
export function dynamoRecordStore({ table, client, ...retries }: DynamoRecordStoreOptions): RecordStore {
  let made: DynamoDBClient | undefined;
  const call = awsCalls(() => {
    if (client) return client;
    made = new DynamoDBClient(CLIENT);
    return made;
  }, retries);
  const resource = `DynamoDB table "${table}"`;

  const query = (on: string, input: Omit<QueryCommandInput, 'TableName'>) =>
    call({ resource: on, actions: ['dynamodb:Query'] }, (client) =>
      client.send(new QueryCommand({ TableName: table, ...input })),
    );

  return {
    inlineBytes: 8192,
    packsSmall: true,
    takesForeign: true,

    read: readWith(call, table, resource),

    async range(partition, options = {}) {
      if (isEmpty(options)) return { records: [] };
      const answer = await query(resource, {
        ConsistentRead: true,
        ...inGroup('pk', partition, 'sk', options),
        ...startingAt(options.after, ['sk'], { pk: { S: partition } }),
      });
      return toPage(answer, ['sk'], toRecord);
    },

    async list(list, group, options = {}) {
      if (isEmpty(options)) return { records: [] };
      const at = LISTS[list];
      const position = [at.order, 'pk', 'sk'];
      const answer = await query(`index "${at.index}" of the ${resource}`, {
        IndexName: at.index,
        ...inGroup(at.group, group, at.order, options),
        ...startingAt(options.after, position, { [at.group]: { S: group } }),
      });
      return toPage(answer, position, toListed);
    },

    commit: commitWith(call, table, resource),

    async close() {
      made?.destroy();
    },
  };
}

/** Tries are counted by the adapter alone, so that it knows of each; a dead connection shows within seconds. */
const CLIENT = {
  maxAttempts: 1,
  requestHandler: { connectionTimeout: 3_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
};

// DynamoDB refuses empty values and bounds that are the wrong way round, where the port asks for an empty page.
const isEmpty = ({ from = '', to }: PageOptions): boolean =>
  to !== undefined && (to === '' || Buffer.compare(Buffer.from(from), Buffer.from(to)) > 0);

function inGroup(group: string, value: string, order: string, { from, to, newestFirst, limit }: PageOptions) {
  const bound = from && to ? '#o BETWEEN :from AND :to' : from ? '#o >= :from' : to ? '#o <= :to' : undefined;
  return {
    KeyConditionExpression: bound ? `#g = :g AND ${bound}` : '#g = :g',
    ExpressionAttributeNames: { '#g': group, ...(bound && { '#o': order }) },
    ExpressionAttributeValues: {
      ':g': { S: value },
      ...(from && { ':from': { S: from } }),
      ...(to && { ':to': { S: to } }),
    },
    ScanIndexForward: !newestFirst,
    ...(limit !== undefined && { Limit: Math.max(1, limit) }),
  };
}

function toPage(
  { Items = [], LastEvaluatedKey: last }: { Items?: Item[] | undefined; LastEvaluatedKey?: Item | undefined },
  position: readonly string[],
  toStored: (item: Item) => StoredRecord,
): Page {
  const cursor = last && JSON.stringify(position.map((name) => text(last, name)));
  return { records: Items.map(toStored), ...(cursor && { next: Buffer.from(cursor).toString('base64url') }) };
}

function startingAt(cursor: string | undefined, position: readonly string[], group: Item) {
  if (cursor === undefined) return {};
  const values = positionIn(cursor, position.length);
  const rest = position.map((name, at) => [name, { S: values[at] ?? '' }]);
  return { ExclusiveStartKey: { ...group, ...Object.fromEntries(rest) } };
}
