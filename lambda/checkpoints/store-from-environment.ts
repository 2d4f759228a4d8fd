import {
  BUCKET_VARIABLE,
  KEY_VARIABLE,
  RETENTION_VARIABLE,
  TABLE_VARIABLE,
  UNENCRYPTED_VARIABLE,
} from '../environment/names.ts';
import { parseSecondsVariable } from '../environment/seconds-variable.ts';
import { importOptionalPeer } from '../storage/aws/import-optional-peer.ts';
import type { Storage } from '../storage/ports.ts';
import { type CheckpointStore, createCheckpointStore } from './checkpoint-store.ts';
import type { CheckpointStoreOptions } from './context-factory.ts';
import type { KeyRing } from './encryption/key-ring.ts';

/**
 * The storage from environment variables: DynamoDB and S3 with WAITSTATE_TABLE and WAITSTATE_BUCKET, otherwise the
 * local folder WAITSTATE_FOLDER (default `.waitstate`).
 */
export function storageFromEnvironment(clock?: () => number): () => Promise<Storage> {
  if (isDynamoConfigured())
    return async () =>
      (
        await importOptionalPeer('@aws-sdk/client-dynamodb', () => import('../storage/dynamodb/dynamo-storage.ts'))
      ).dynamoStorage();
  const { WAITSTATE_FOLDER: folder = '.waitstate' } = process.env;
  return async () =>
    (await import('../storage/embedded/embedded-storage.ts')).embeddedStorage({ folder, ...(clock && { clock }) });
}

/**
 * Store options from environment variables, for runs on DynamoDB: the retention of new runs
 * (WAITSTATE_RETENTION_SECONDS), the KMS key (WAITSTATE_KMS_KEY), and whether unencrypted runs are accepted too
 * (WAITSTATE_ACCEPT_UNENCRYPTED). No options without a table.
 */
export function optionsFromEnvironment(): Pick<CheckpointStoreOptions, 'retention' | 'keys' | 'acceptUnencrypted'> {
  if (!isDynamoConfigured()) return {};
  const { [RETENTION_VARIABLE]: retention, [KEY_VARIABLE]: key, [UNENCRYPTED_VARIABLE]: plain } = process.env;
  const seconds = parseSecondsVariable(RETENTION_VARIABLE, retention);
  return {
    ...(seconds !== undefined && { retention: { seconds } }),
    ...(key?.trim() && { keys: lazyKmsKeys(key.trim()), acceptUnencrypted: plain?.trim() === 'true' }),
  };
}

/** A KMS key ring that is loaded on first use. */
function lazyKmsKeys(keyId: string): KeyRing {
  let loaded: Promise<KeyRing> | undefined;
  const ring = () => (loaded ??= import('./encryption/kms-keys.ts').then(({ kmsKeys }) => kmsKeys({ keyId })));
  return {
    wrap: async (key, context) => (await ring()).wrap(key, context),
    unwrap: async (wrapped, context) => (await ring()).unwrap(wrapped, context),
  };
}

/** Whether environment variables name a table or a bucket. */
export const isDynamoConfigured = (): boolean => Boolean(process.env[TABLE_VARIABLE] || process.env[BUCKET_VARIABLE]);

/**
 * A checkpoint store that is configured by environment variables; `options` override them. To bundle only one kind of
 * storage, import `checkpointStore` from `waitstate/dynamodb` or `waitstate/embedded`.
 */
export const checkpointStore = <State = unknown>(options: CheckpointStoreOptions = {}): CheckpointStore<State> =>
  createCheckpointStore<State>(storageFromEnvironment(options.clock), { ...optionsFromEnvironment(), ...options });
