import type { CheckpointStore, CheckpointStoreOptions } from './checkpoints/checkpoint-store.ts';
import { checkpointStoreOn } from './checkpoints/checkpoint-store.ts';
import { HoldpointError } from './core/errors.ts';

/**
 * A checkpoint store where the environment says: with HOLDPOINT_TABLE and HOLDPOINT_BUCKET on DynamoDB and S3, otherwise in the folder
 * HOLDPOINT_FOLDER (`.holdpoint`) of this machine. To bundle only one of the two, import `checkpointStore` from `holdpoint/dynamodb` or
 * `holdpoint/embedded`.
 */
export function checkpointStore<State = unknown>(options: CheckpointStoreOptions = {}): CheckpointStore<State> {
  const { HOLDPOINT_TABLE: table, HOLDPOINT_BUCKET: bucket, HOLDPOINT_FOLDER: folder = '.holdpoint' } = process.env;
  if (table && bucket) {
    return checkpointStoreOn<State>(async () => {
      const { dynamoRecordStore, s3PayloadStore } = await import('./dynamodb.ts');
      return { records: dynamoRecordStore({ table }), payloads: s3PayloadStore({ bucket }) };
    }, options);
  }
  if (table || bucket) {
    const missing = table ? 'HOLDPOINT_BUCKET' : 'HOLDPOINT_TABLE';
    throw new HoldpointError('INVALID_INPUT', `${missing} is not set; DynamoDB and S3 need both HOLDPOINT_TABLE and HOLDPOINT_BUCKET.`);
  }
  return checkpointStoreOn<State>(async () => {
    const { embeddedStorage } = await import('./storage/embedded/embedded-storage.ts');
    return embeddedStorage({ folder });
  }, options);
}
