import type { CheckpointStore } from './checkpoints/checkpoint-store.ts';
import { checkpointStoreOn } from './checkpoints/checkpoint-store.ts';
import type { CheckpointStoreOptions } from './checkpoints/contexts.ts';
import { installed } from './storage/installed.ts';
import type { Storage } from './storage/ports.ts';

/**
 * The storage that the environment names: with HOLDPOINT_TABLE and HOLDPOINT_BUCKET on DynamoDB and S3, otherwise in the
 * folder HOLDPOINT_FOLDER (`.holdpoint`) of this machine.
 */
export function storageFromEnvironment(clock?: () => number): () => Promise<Storage> {
  const { HOLDPOINT_FOLDER: folder = '.holdpoint' } = process.env;
  return isOnDynamo()
    ? async () => (await installed('@aws-sdk/client-dynamodb', () => import('./dynamodb.ts'))).dynamoStorage()
    : async () => (await import('./embedded.ts')).embeddedStorage({ folder, ...(clock && { clock }) });
}

/** Whether the environment names a table. */
export const isOnDynamo = (): boolean => Boolean(process.env.HOLDPOINT_TABLE || process.env.HOLDPOINT_BUCKET);

/**
 * A checkpoint store where the environment says. To bundle only one of the two kinds of storage, import
 * `checkpointStore` from `holdpoint/dynamodb` or `holdpoint/embedded`.
 */
export const checkpointStore = <State = unknown>(options: CheckpointStoreOptions = {}): CheckpointStore<State> =>
  checkpointStoreOn<State>(storageFromEnvironment(options.clock), options);
