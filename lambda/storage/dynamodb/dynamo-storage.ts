import { WaitstateError } from '../../core/errors.ts';
import { BUCKET_VARIABLE, TABLE_VARIABLE } from '../../environment/names.ts';
import { importOptionalPeer } from '../aws/import-optional-peer.ts';
import { lazyPayloadStore } from '../decorators/lazy-payloads.ts';
import type { Storage } from '../ports.ts';
import type { S3PayloadStoreOptions } from '../s3/s3-payloads.ts';
import { type DynamoRecordStoreOptions, dynamoRecordStore } from './dynamo-records.ts';

export interface DynamoStorageOptions {
  /** The DynamoDB table. @default the environment variable WAITSTATE_TABLE */
  readonly table?: string;
  /** The S3 bucket. @default the environment variable WAITSTATE_BUCKET */
  readonly bucket?: string;
  /** Your own client; a DynamoDBDocumentClient works too. @default a client that is created on first use */
  readonly dynamoDBClient?: DynamoRecordStoreOptions['client'];
  /** Your own client. @default a client that is created on first use */
  readonly s3Client?: S3PayloadStoreOptions['client'];
}

/** A storage with records in DynamoDB and payloads in S3. The S3 client is loaded on first use. */
export function dynamoStorage(options: DynamoStorageOptions = {}): Storage {
  const {
    table = process.env[TABLE_VARIABLE],
    bucket = process.env[BUCKET_VARIABLE],
    dynamoDBClient,
    s3Client,
  } = options;
  if (!table || !bucket) {
    const [option, variable] = table ? ['bucket', BUCKET_VARIABLE] : ['table', TABLE_VARIABLE];
    throw new WaitstateError(
      'INVALID_INPUT',
      `DynamoDB storage needs a table and a bucket: pass \`${option}\`, or set ${variable}.`,
    );
  }
  return {
    records: dynamoRecordStore({ table, ...(dynamoDBClient && { client: dynamoDBClient }) }),
    payloads: lazyPayloadStore(async () => {
      const { s3PayloadStore } = await importOptionalPeer('@aws-sdk/client-s3', () => import('../s3/s3-payloads.ts'));
      return s3PayloadStore({ bucket, ...(s3Client && { client: s3Client }) });
    }),
  };
}
