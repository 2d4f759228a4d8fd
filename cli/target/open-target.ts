import { existsSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { checkpointStoreOn } from '../../lambda/checkpoints/checkpoint-store.ts';
import { contextsOn } from '../../lambda/checkpoints/contexts.ts';
import type { KeyRing } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { present } from '../../lambda/core/omit-undefined.ts';
import { deskOn } from '../../lambda/operator/create-operator.ts';
import { systemClock } from '../../lambda/runtime/agent/clock.ts';
import type { Log } from '../../lambda/runtime/runtime.ts';
import { installed } from '../../lambda/storage/aws/import-optional-peer.ts';
import { watchedStorage } from '../../lambda/storage/decorators/watched-storage.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import type { AwsPlace, FolderPlace, Place } from './target.ts';

export interface OpenOptions {
  readonly tenant?: string | undefined;
  /** Whether a folder in which there is nothing yet is made. */
  readonly isNew?: boolean;
  readonly log: Log;
}

/** Opens a place with the rights of whoever runs the command. */
export async function openPlace(at: FolderPlace | AwsPlace, { tenant, isNew, log }: OpenOptions): Promise<Place> {
  if (at.kind === 'folder' && !isNew) refuseEmpty(at.folder);
  const { storage, watch } = watchedStorage(await storageIn(at));
  const options = { writer: writerName(), ...present({ tenant, keys: await keysOf(at) }) };
  const contexts = contextsOn(storage, options);
  return {
    at,
    tenant: contexts.tenant,
    desk: deskOn({ contexts, clock: systemClock, chance: Math.random, log }),
    store: checkpointStoreOn(storage, options),
    watch,
    async close() {
      await Promise.all([storage.records.close(), storage.payloads.close()]);
    },
  };
}

async function storageIn(at: FolderPlace | AwsPlace): Promise<Storage> {
  if (at.kind === 'folder') return (await import('../../lambda/embedded.ts')).embeddedStorage({ folder: at.folder });
  const { dynamoStorage } = await installed('@aws-sdk/client-dynamodb', () => import('../../lambda/dynamodb.ts'));
  return dynamoStorage({ table: at.table, bucket: at.bucket });
}

async function keysOf(at: FolderPlace | AwsPlace): Promise<KeyRing | undefined> {
  if (at.kind === 'folder' || at.key === undefined) return undefined;
  return (await import('../../lambda/checkpoints/encryption/kms-keys.ts')).kmsKeys({ keyId: at.key });
}

/** Who looks into a folder by mistake should not make one. */
function refuseEmpty(folder: string): void {
  if (existsSync(join(folder, 'records.sqlite'))) return;
  throw new WaitstateError(
    'STORAGE_MISSING',
    `There are no runs in the folder ${folder}. Name the folder by --folder or WAITSTATE_FOLDER, or a stack by --stack; "waitstate dev" makes a new one.`,
  );
}

/** As history shows it: who, and on which machine. */
function writerName(): string {
  return `${nameOfUser()}@${hostname()}`.slice(0, 256);
}

function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container the user may have no name.
    return `user ${process.getuid?.() ?? ''}`.trim();
  }
}
