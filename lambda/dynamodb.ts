import { type CheckpointStore, createCheckpointStore } from './checkpoints/checkpoint-store.ts';
import type { CheckpointStoreOptions } from './checkpoints/engine.ts';
import { type DynamoStorageOptions, dynamoStorage } from './storage/dynamodb/dynamo-storage.ts';

export { STREAM_FILTERS } from './handlers/stream-filters.ts';
export { STREAM, TABLE, TIME_TO_LIVE } from './storage/dynamodb/table.ts';
export { type DynamoStorageOptions, dynamoStorage };

/** A checkpoint store on DynamoDB and S3. */
export function checkpointStore<State = unknown>(
  options: DynamoStorageOptions & CheckpointStoreOptions = {},
): CheckpointStore<State> {
  return createCheckpointStore<State>(dynamoStorage(options), options);
}
