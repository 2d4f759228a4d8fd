import { omitUndefined } from '../core/omit-undefined.ts';
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
import type { CheckpointStore } from './checkpoint-store.ts';
import { createCheckpointStore } from './checkpoint-store.ts';
import type { CheckpointStoreOptions } from './context-factory.ts';
import type { KeyRing } from './encryption/key-ring.ts';

/**
 * The storage that the environment names: with WAITSTATE_TABLE and WAITSTATE_BUCKET on DynamoDB and S3, otherwise in the
 * folder WAITSTATE_FOLDER (`.waitstate`) of this machine.
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
 * What else the environment says of runs on DynamoDB: how long those that are begun here are kept
 * (WAITSTATE_RETENTION_SECONDS), which key of KMS encrypts them (WAITSTATE_KMS_KEY), and whether those from before there was
 * one are opened (WAITSTATE_ACCEPT_UNENCRYPTED). Nothing where it names no table.
 */
export function optionsFromEnvironment(): Pick<
  CheckpointStoreOptions,
  'retentionSeconds' | 'keys' | 'acceptUnencrypted'
> {
  if (!isDynamoConfigured()) return {};
  const { [RETENTION_VARIABLE]: seconds, [KEY_VARIABLE]: key, [UNENCRYPTED_VARIABLE]: plain } = process.env;
  const retentionSeconds = parseSecondsVariable(RETENTION_VARIABLE, seconds);
  return {
    ...omitUndefined({ retentionSeconds }),
    ...(key?.trim() && { keys: lazyKmsKeys(key.trim()), acceptUnencrypted: plain?.trim() === 'true' }),
  };
}

/** A key ring in KMS that is loaded when first needed. */
function lazyKmsKeys(keyId: string): KeyRing {
  let loaded: Promise<KeyRing> | undefined;
  const ring = () => (loaded ??= import('./encryption/kms-keys.ts').then(({ kmsKeys }) => kmsKeys({ keyId })));
  return {
    wrap: async (key, context) => (await ring()).wrap(key, context),
    unwrap: async (wrapped, context) => (await ring()).unwrap(wrapped, context),
  };
}

/** Whether the environment names a table. */
export const isDynamoConfigured = (): boolean => Boolean(process.env[TABLE_VARIABLE] || process.env[BUCKET_VARIABLE]);

/**
 * A checkpoint store where the environment says, and as it says unless `options` do. To bundle only one of the two kinds
 * of storage, import `checkpointStore` from `waitstate/dynamodb` or `waitstate/embedded`.
 */
export const checkpointStore = <State = unknown>(options: CheckpointStoreOptions = {}): CheckpointStore<State> =>
  createCheckpointStore<State>(storageFromEnvironment(options.clock), { ...optionsFromEnvironment(), ...options });
