import { randomBytes } from 'node:crypto';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { inject } from 'vitest';
import { dynamoRecordStore } from '../../lambda/storage/dynamodb/dynamo-records.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { s3PayloadStore } from '../../lambda/storage/s3/s3-payloads.ts';
import { makeTable } from './make-table.ts';

/** The addresses of the engines, or an error message for tests that need a missing one. */
export type EngineAt = { readonly endpoint: string; readonly isOurs: boolean } | { readonly missing: string };

declare module 'vitest' {
  interface ProvidedContext {
    readonly dynamodb: EngineAt;
    readonly s3: EngineAt;
    readonly testRun: string;
  }
}

/** A client of the DynamoDB engine of this test run. */
export function dynamoClient(config: DynamoDBClientConfig = {}): DynamoDBClient {
  return new DynamoDBClient({ ...account(inject('dynamodb')), ...config });
}

/** A client of the S3 engine of this test run. */
export function s3Client(): S3Client {
  return new S3Client({ ...account(inject('s3')), forcePathStyle: true });
}

/** The name of a new table, or DYNAMODB_TABLE. */
export async function freshTable(client = sharedDynamo()): Promise<string> {
  const given = process.env.DYNAMODB_TABLE;
  if (given) return given;
  const table = freshName();
  await makeTable(client, table);
  return table;
}

/** The name of a new bucket, or S3_BUCKET. */
export async function freshBucket(client = sharedS3()): Promise<string> {
  const given = process.env.S3_BUCKET;
  if (given) return given;
  const Bucket = freshName();
  await client.send(new CreateBucketCommand({ Bucket }));
  return Bucket;
}

/** Storage on a new table and bucket. */
export async function awsStorage(): Promise<Storage> {
  const [table, bucket] = await Promise.all([freshTable(), freshBucket()]);
  return {
    records: dynamoRecordStore({ table, client: sharedDynamo() }),
    payloads: s3PayloadStore({ bucket, client: sharedS3() }),
  };
}

// The tests of a process share these clients and their connections, and do not change them.
const clients: { dynamo?: DynamoDBClient; s3?: S3Client } = {};

function sharedDynamo(): DynamoDBClient {
  clients.dynamo ??= dynamoClient();
  return clients.dynamo;
}

function sharedS3(): S3Client {
  clients.s3 ??= s3Client();
  return clients.s3;
}

const freshName = (): string => `${inject('testRun')}-${randomBytes(6).toString('hex')}`;

function account(engine: EngineAt) {
  if ('missing' in engine) throw new Error(engine.missing);
  const { endpoint, isOurs } = engine;
  const credentials = !process.env.AWS_ACCESS_KEY_ID && {
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  };
  return {
    endpoint,
    region: process.env.AWS_REGION ?? 'us-east-1',
    ...credentials,
    ...(isOurs && { signer: UNSIGNED }),
  };
}

// The engines of a test run check no signature, and to calculate one takes a third of the time of a request.
const UNSIGNED = {
  async sign<R extends { headers: Record<string, string> }>(request: R): Promise<R> {
    request.headers.authorization =
      'AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/test/aws4_request, SignedHeaders=host, Signature=0';
    request.headers['x-amz-date'] = '20260101T000000Z';
    return request;
  },
};
