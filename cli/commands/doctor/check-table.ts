import type { DynamoDBClient, TableDescription } from '@aws-sdk/client-dynamodb';
import { toPartition } from '../../../lambda/core/ids.ts';
import { errorDetails } from '../../../lambda/storage/aws/classify-aws-error.ts';
import { LISTS } from '../../../lambda/storage/dynamodb/lists.ts';
import { STREAM, TABLE, TIME_TO_LIVE } from '../../../lambda/storage/dynamodb/table.ts';
import { shardGroup, tenantGroup } from '../../../lambda/storage/keys.ts';
import { errorSummary, type Finding, fail, ok, warn } from './finding.ts';
import { isDenied, PROBE_RUN, type ProbedCall, permissionFinding } from './permissions.ts';

type Dynamo = typeof import('@aws-sdk/client-dynamodb');

/**
 * Checks that the table exists, that it has the right keys and indexes, and that you have the permissions on the records
 * of a tenant.
 */
export async function* checkTable(
  sdk: Dynamo,
  client: DynamoDBClient,
  { table, tenant }: { readonly table: string; readonly tenant: string },
): AsyncGenerator<Finding> {
  try {
    const { Table = {} } = await client.send(new sdk.DescribeTableCommand({ TableName: table }));
    yield shapeFinding(table, Table);
    yield streamFinding(Table);
  } catch (error) {
    const found = describeFailure(table, error);
    yield found;
    if (found.status === 'fail') return;
  }
  yield await timeToLiveFinding(sdk, client, table);
  const probe = tableProbe(sdk, client, table, tenant);
  yield permissionFinding('table access', `the table "${table}"`, await probe.records());
  yield dueFinding(await probe.due());
}

/** Reports whether the index `due` can be read. It contains records of all tenants, so most roles cannot. */
function dueFinding({ error }: ProbedCall): Finding {
  const check = 'due index';
  if (isDenied(error))
    return warn(
      check,
      'not allowed: dynamodb:Query on index/due',
      'Without it, lists leave out runs that an agent is executing. This is expected for a role that is restricted to one tenant.',
    );
  return error === undefined ? ok(check, 'Query') : fail(check, errorSummary(error), 'Try again later.');
}

function describeFailure(table: string, error: unknown): Finding {
  const { name, status } = errorDetails(error);
  if (name === 'ResourceNotFoundException')
    return fail(
      'table',
      `table "${table}" does not exist`,
      'Check the name, the region and the account. Deploy the stack, or create the table as in docs/reference/storage-on-aws.md.',
    );
  if (/AccessDenied/.test(name))
    return warn(
      'table',
      `not allowed to describe "${table}"`,
      'Allow dynamodb:DescribeTable to check its keys and indexes.',
    );
  if (/UnrecognizedClient|InvalidSignature|ExpiredToken|InvalidAccessKeyId|MissingAuthentication/.test(name))
    return fail(
      'table',
      `AWS rejects the credentials: ${errorSummary(error)}`,
      'Log in again, or use other credentials.',
    );
  const advice =
    status === 0 ? 'Check the network, the region, and AWS_ENDPOINT_URL_DYNAMODB if it is set.' : 'Try again later.';
  return fail('table', `request failed: ${name}: ${errorSummary(error)}`, advice);
}

interface KeyPart {
  readonly AttributeName?: string | undefined;
  readonly KeyType?: string | undefined;
}

const keysText = (keys: readonly KeyPart[] = []): string => keys.map(({ AttributeName }) => AttributeName).join(', ');

/** Checks the keys and the indexes. */
function shapeFinding(
  table: string,
  { KeySchema, GlobalSecondaryIndexes = [], TableStatus }: TableDescription,
): Finding {
  const made =
    'Waitstate needs its own table. Create it as in docs/reference/storage-on-aws.md (TABLE of waitstate/dynamodb).';
  const found = keysText(KeySchema);
  const expected = keysText(TABLE.KeySchema);
  if (found !== expected)
    return fail('table', `"${table}" must have the key ${expected}; found ${found || 'none'}`, made);
  const wrong = TABLE.GlobalSecondaryIndexes.flatMap((index) => {
    const there = GlobalSecondaryIndexes?.find(({ IndexName }) => IndexName === index.IndexName);
    if (!there) return [`index "${index.IndexName}" is missing`];
    if (keysText(there.KeySchema) !== keysText(index.KeySchema))
      return [
        `index "${index.IndexName}" must have the key ${keysText(index.KeySchema)}; found ${keysText(there.KeySchema)}`,
      ];
    const { ProjectionType, NonKeyAttributes = [] } = there.Projection ?? {};
    const isProjected =
      ProjectionType === 'ALL' || index.Projection.NonKeyAttributes.every((name) => NonKeyAttributes.includes(name));
    return isProjected
      ? []
      : [`index "${index.IndexName}" lacks the attributes ${index.Projection.NonKeyAttributes.join(', ')}`];
  });
  if (wrong.length > 0) return fail('table', wrong.join('; '), made);
  if (TableStatus !== undefined && TableStatus !== 'ACTIVE')
    return warn('table', `"${table}" is ${TableStatus}`, 'Wait until it is ACTIVE.');
  return ok('table', `"${table}", with ${Object.keys(LISTS).length} indexes`);
}

function streamFinding({
  StreamSpecification: { StreamEnabled, StreamViewType } = {} as never,
}: TableDescription): Finding {
  if (StreamEnabled && StreamViewType === STREAM.StreamViewType) return ok('stream', 'new and old images');
  const found = StreamEnabled ? `it contains ${StreamViewType}` : 'it is off';
  return warn(
    'stream',
    found,
    'Enable the stream of the table with new and old images. Durable runs need it; checkpoints alone do not.',
  );
}

/** Checks that the table deletes expired records. */
async function timeToLiveFinding(sdk: Dynamo, client: DynamoDBClient, TableName: string): Promise<Finding> {
  const check = 'time to live';
  const wanted = `for the attribute "${TIME_TO_LIVE.AttributeName}"`;
  const advice = `Turn it on ${wanted}, as in docs/reference/storage-on-aws.md. Until then, expired links, shared results and early signals are not deleted.`;
  try {
    const { TimeToLiveDescription: { TimeToLiveStatus = 'DISABLED', AttributeName } = {} } = await client.send(
      new sdk.DescribeTimeToLiveCommand({ TableName }),
    );
    if (!/^ENABL/.test(TimeToLiveStatus)) return warn(check, 'it is off', advice);
    if (AttributeName === TIME_TO_LIVE.AttributeName) return ok(check, wanted);
    return warn(check, `it is on for the attribute "${AttributeName}"`, `Turn that off. ${advice}`);
  } catch (error) {
    const found = `not allowed to read it for "${TableName}"`;
    if (isDenied(error)) return warn(check, found, 'Allow dynamodb:DescribeTimeToLive to check it.');
    return warn(check, `request failed: ${errorSummary(error)}`, 'Try again later.');
  }
}

// Never true, so nothing is written. DynamoDB evaluates the condition only for callers with permission to write.
const NEVER_TRUE = { ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(pk)' };

/** Calls that show the permissions on the records of a tenant, and change nothing. */
function tableProbe(sdk: Dynamo, client: DynamoDBClient, TableName: string, tenant: string) {
  // A policy may name the keys of one tenant, so each call uses a key that this tenant could have.
  const partition = { S: toPartition(tenant, PROBE_RUN) };
  const key = { pk: partition, sk: { S: 'none' } };
  const query = (index: string | undefined, attribute: string, value: string) =>
    client.send(
      new sdk.QueryCommand({
        ...{ TableName, ...(index !== undefined && { IndexName: index }), Limit: 1 },
        ...{
          KeyConditionExpression: '#k = :k',
          ExpressionAttributeNames: { '#k': attribute },
          ExpressionAttributeValues: { ':k': { S: value } },
        },
      }),
    );
  const call = async (action: string, send: () => Promise<unknown>): Promise<ProbedCall> => {
    const error = await send().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return { action, error: errorDetails(error).name === 'ConditionalCheckFailedException' ? undefined : error };
  };
  const queryList = (list: keyof typeof LISTS, group: string): Promise<ProbedCall> =>
    call(`dynamodb:Query on index/${LISTS[list].index}`, () => query(LISTS[list].index, LISTS[list].group, group));
  return {
    records: (): Promise<readonly ProbedCall[]> =>
      Promise.all([
        call('dynamodb:GetItem', () => client.send(new sdk.GetItemCommand({ TableName, Key: key }))),
        call('dynamodb:BatchGetItem', () =>
          client.send(new sdk.BatchGetItemCommand({ RequestItems: { [TableName]: { Keys: [key] } } })),
        ),
        call('dynamodb:Query', () => query(undefined, 'pk', partition.S)),
        queryList('status', tenantGroup(tenant, PROBE_RUN)),
        queryList('owner', tenantGroup(tenant, PROBE_RUN)),
        call('dynamodb:PutItem', () => client.send(new sdk.PutItemCommand({ TableName, Item: key, ...NEVER_TRUE }))),
        call('dynamodb:DeleteItem', () =>
          client.send(new sdk.DeleteItemCommand({ TableName, Key: key, ...NEVER_TRUE })),
        ),
      ]),
    due: (): Promise<ProbedCall> => queryList('due', shardGroup(0)),
  };
}
