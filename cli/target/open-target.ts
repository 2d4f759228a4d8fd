import { existsSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { contextFactory, type KeyRing } from '../../lambda/checkpoints/engine.ts';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { systemClock } from '../../lambda/runtime/clock.ts';
import type { Log } from '../../lambda/runtime/runtime.ts';
import { importOptionalPeer } from '../../lambda/storage/aws/import-optional-peer.ts';
import { watchedStorage } from '../../lambda/storage/decorators/watched-storage.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import type { AwsTarget, FolderTarget, Target } from './target.ts';

export interface OpenTargetOptions {
  readonly tenant?: string | undefined;
  /** Whether to create a folder that has no runs yet. */
  readonly createIfMissing?: boolean;
  readonly log: Log;
}

/** Opens a target with the permissions of the user who runs the command. */
export async function openTarget(
  resolved: FolderTarget | AwsTarget,
  { tenant, createIfMissing, log }: OpenTargetOptions,
): Promise<Target> {
  if (resolved.kind === 'folder' && !createIfMissing) requireExistingRuns(resolved.folder);
  const { storage, watch } = watchedStorage(await storageFor(resolved));
  const options = { writer: writerName(), ...omitUndefined({ tenant, keys: await keyRingFor(resolved) }) };
  const contexts = contextFactory(storage, options);
  return {
    resolved,
    tenant: contexts.tenant,
    operator: createOperator({ contexts, clock: systemClock, random: Math.random, log }),
    store: createCheckpointStore(storage, options),
    watch,
    async close() {
      await Promise.all([storage.records.close(), storage.payloads.close()]);
    },
  };
}

async function storageFor(resolved: FolderTarget | AwsTarget): Promise<Storage> {
  if (resolved.kind === 'folder')
    return (await import('../../lambda/embedded.ts')).embeddedStorage({ folder: resolved.folder });
  const { dynamoStorage } = await importOptionalPeer(
    '@aws-sdk/client-dynamodb',
    () => import('../../lambda/dynamodb.ts'),
  );
  return dynamoStorage({ table: resolved.table, bucket: resolved.bucket });
}

async function keyRingFor(resolved: FolderTarget | AwsTarget): Promise<KeyRing | undefined> {
  if (resolved.kind === 'folder' || resolved.key === undefined) return undefined;
  return (await import('../../lambda/checkpoints/encryption/kms-keys.ts')).kmsKeys({ keyId: resolved.key });
}

/** Reading a folder by mistake must not create one. */
function requireExistingRuns(folder: string): void {
  if (existsSync(join(folder, 'records.sqlite'))) return;
  throw new WaitstateError(
    'STORAGE_MISSING',
    `The folder ${folder} contains no runs. Choose a folder with --folder or WAITSTATE_FOLDER, or a stack with --stack; "waitstate dev" creates a new folder.`,
  );
}

/** The writer in the history: user and machine. */
function writerName(): string {
  return `${userName()}@${hostname()}`.slice(0, 256);
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user may have no name.
    return `user ${process.getuid?.() ?? ''}`.trim();
  }
}
