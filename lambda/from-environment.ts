import type { CheckpointStore, CheckpointStoreOptions } from './checkpoints/checkpoint-store.ts';
import { checkpointStoreOn } from './checkpoints/checkpoint-store.ts';
import { installed } from './storage/installed.ts';

/**
 * A checkpoint store where the environment says: with HOLDPOINT_TABLE and HOLDPOINT_BUCKET on DynamoDB and S3,
 * otherwise in the folder HOLDPOINT_FOLDER (`.holdpoint`) of this machine. To bundle only one of the two, import
 * `checkpointStore` from `holdpoint/dynamodb` or `holdpoint/embedded`.
 */
export function checkpointStore<State = unknown>(options: CheckpointStoreOptions = {}): CheckpointStore<State> {
  const { HOLDPOINT_TABLE: table, HOLDPOINT_BUCKET: bucket, HOLDPOINT_FOLDER: folder = '.holdpoint' } = process.env;
  const clock = options.clock && { clock: options.clock };
  return checkpointStoreOn<State>(
    table || bucket
      ? async () => (await installed('@aws-sdk/client-dynamodb', () => import('./dynamodb.ts'))).dynamoStorage()
      : async () => (await import('./embedded.ts')).embeddedStorage({ folder, ...clock }),
    options,
  );
}
