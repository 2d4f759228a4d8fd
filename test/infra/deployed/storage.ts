import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  type TimeToLiveSpecification,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { StreamRecord } from '../../../lambda/handlers/stream-records.ts';
import { readStream } from '../../engines/table-stream.ts';
import { allOf, type Deployed } from './resolve.ts';
import type { TableFacts } from './services/dynamodb.ts';
import type { Engine } from './services/forward.ts';
import type { Buckets } from './services/s3.ts';

/** The local engines. */
export interface Engines {
  readonly dynamodb: Engine;
  readonly s3: Engine;
}

/** Properties of a table in a template; except encryption and TTL, they are those of `CreateTable`. */
interface TableProperties
  extends Pick<
    CreateTableCommandInput,
    'AttributeDefinitions' | 'KeySchema' | 'GlobalSecondaryIndexes' | 'BillingMode' | 'StreamSpecification'
  > {
  readonly TimeToLiveSpecification?: TimeToLiveSpecification;
  readonly SSESpecification?: { readonly KMSMasterKeyId?: string };
}

interface BucketProperties {
  readonly BucketEncryption: {
    readonly ServerSideEncryptionConfiguration: readonly {
      readonly ServerSideEncryptionByDefault: { readonly KMSMasterKeyID?: string };
    }[];
  };
}

/** Creates the tables and buckets of a template on the engines. */
export async function makeStorage(deployed: Deployed, engines: Engines) {
  const client = new DynamoDBClient(configOf(engines.dynamodb));
  const s3 = new S3Client({ ...configOf(engines.s3), forcePathStyle: true });
  const tables = new Map<string, TableFacts>();
  const streams: (() => Promise<StreamRecord[]>)[] = [];
  for (const { ref: TableName, arn, properties } of allOf<TableProperties>(deployed, 'AWS::DynamoDB::Table')) {
    const { AttributeDefinitions, KeySchema, GlobalSecondaryIndexes, BillingMode, StreamSpecification } = properties;
    const { TableDescription } = await client.send(
      new CreateTableCommand({
        TableName,
        AttributeDefinitions,
        KeySchema,
        GlobalSecondaryIndexes,
        BillingMode,
        StreamSpecification: StreamSpecification && { ...StreamSpecification, StreamEnabled: true },
      }),
    );
    await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1 }, { TableName });
    const { TimeToLiveSpecification, SSESpecification } = properties;
    if (TimeToLiveSpecification) await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
    tables.set(TableName, {
      arn,
      partitionKey: partitionOf(KeySchema),
      kmsKey: SSESpecification?.KMSMasterKeyId,
      indexKeys: Object.fromEntries(
        (GlobalSecondaryIndexes ?? []).map(({ IndexName, KeySchema: keys }) => [IndexName, partitionOf(keys)]),
      ),
    });
    if (StreamSpecification) streams.push(await readStream(client, TableDescription?.LatestStreamArn));
  }
  const buckets: [string, { kmsKey: string | undefined }][] = [];
  for (const { ref: Bucket, properties } of allOf<BucketProperties>(deployed, 'AWS::S3::Bucket')) {
    await s3.send(new CreateBucketCommand({ Bucket }));
    const [rule] = properties.BucketEncryption.ServerSideEncryptionConfiguration;
    buckets.push([Bucket, { kmsKey: rule?.ServerSideEncryptionByDefault.KMSMasterKeyID }]);
  }
  return {
    client,
    s3,
    tables,
    buckets: new Map(buckets) satisfies Buckets,
    /** The stream records since the last call. */
    nextRecords: async () => (await Promise.all(streams.map((next) => next()))).flat(),
  };
}

const partitionOf = (keys: TableProperties['KeySchema']): string =>
  keys?.find(({ KeyType }) => KeyType === 'HASH')?.AttributeName ?? '';

const configOf = ({ endpoint, region, accessKeyId, secretAccessKey }: Engine) => ({
  endpoint,
  region,
  credentials: { accessKeyId, secretAccessKey },
});
