import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { S3Client } from '@aws-sdk/client-s3';
import type { CheckpointStore, CheckpointStoreOptions } from './checkpoints/checkpoint-store.ts';
import { checkpointStoreOn } from './checkpoints/checkpoint-store.ts';
import { HoldpointError } from './core/errors.ts';
import { dynamoRecordStore } from './storage/dynamodb/dynamo-records.ts';
import { s3PayloadStore } from './storage/s3/s3-payloads.ts';

export { tableDefinition } from './storage/dynamodb/table.ts';
export { dynamoRecordStore, s3PayloadStore };

export interface DynamoStoreOptions extends CheckpointStoreOptions {
  /** @default the environment's HOLDPOINT_TABLE */
  readonly table?: string;
  /** @default the environment's HOLDPOINT_BUCKET */
  readonly bucket?: string;
  /** Your own clients, reused. A DynamoDBDocumentClient will do too. @default made when first needed */
  readonly dynamoDBClient?: Pick<DynamoDBClient, 'send' | 'destroy'>;
  readonly s3Client?: Pick<S3Client, 'send' | 'destroy'>;
}

/** A checkpoint store on DynamoDB and S3. */
export function checkpointStore<State = unknown>(options: DynamoStoreOptions = {}): CheckpointStore<State> {
  const {
    table = process.env.HOLDPOINT_TABLE,
    bucket = process.env.HOLDPOINT_BUCKET,
    dynamoDBClient,
    s3Client,
    ...rest
  } = options;
  const records = dynamoRecordStore({ table: given('table', 'HOLDPOINT_TABLE', table), ...(dynamoDBClient && { client: dynamoDBClient }) });
  const payloads = s3PayloadStore({ bucket: given('bucket', 'HOLDPOINT_BUCKET', bucket), ...(s3Client && { client: s3Client }) });
  return checkpointStoreOn<State>({ records, payloads }, rest);
}

function given(option: string, variable: string, value: string | undefined): string {
  if (value) return value;
  throw new HoldpointError('INVALID_INPUT', `A store on DynamoDB and S3 needs a ${option}: pass \`${option}\`, or set ${variable}.`);
}
