import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { dynamoStorage } from '../../../lambda/dynamodb.ts';
import { embeddedStorage } from '../../../lambda/embedded.ts';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { dynamoClient, freshBucket, freshTable, s3Client } from '../../engines/engines.ts';
import { agentsOf, type Code, type Effect, type SomeAgent } from './agents.ts';

/** The storage and the side effects that the processes of a test share with the test. */
export interface SharedStorage {
  /** The environment variables of a child process. */
  readonly env: Readonly<Record<string, string>>;
  readonly storage: Storage;
  /** The agents in the process of the test, at a fixed time. */
  agents(now: number, code?: Code): ReadonlyMap<string, SomeAgent>;
  /** The side effects of a run. */
  effects(run: string): Promise<readonly Effect[]>;
  close(): Promise<void>;
}

/** The storages that processes can share. */
export const SHARED_STORAGES = [
  ['in a folder', inFolder],
  ['on DynamoDB and S3', onAws],
] as const;

async function inFolder(): Promise<SharedStorage> {
  const folder = await mkdtemp(join(tmpdir(), 'waitstate-runs-'));
  const at = join(folder, 'store');
  return createSharedStorage(folder, { WAITSTATE_FOLDER: at }, embeddedStorage({ folder: at }));
}

async function onAws(): Promise<SharedStorage> {
  const [table, bucket] = await Promise.all([freshTable(), freshBucket()]);
  const folder = await mkdtemp(join(tmpdir(), 'waitstate-runs-'));
  const env = {
    WAITSTATE_TABLE: table,
    WAITSTATE_BUCKET: bucket,
    DYNAMODB_ENDPOINT: endpointOf('dynamodb'),
    S3_ENDPOINT: endpointOf('s3'),
  };
  return createSharedStorage(
    folder,
    env,
    dynamoStorage({ table, bucket, dynamoDBClient: dynamoClient(), s3Client: s3Client() }),
  );
}

function endpointOf(name: 'dynamodb' | 's3'): string {
  const engine = inject(name);
  if ('missing' in engine) throw new Error(engine.missing);
  return engine.endpoint;
}

function createSharedStorage(folder: string, env: Readonly<Record<string, string>>, storage: Storage): SharedStorage {
  const file = join(folder, 'effects.jsonl');
  return {
    env: { ...env, EFFECTS_FILE: file },
    storage,
    agents: (now, code = 3) =>
      agentsOf(file, code, { storage, clock: { now: () => now, sleep: () => new Promise(() => {}) }, runsInMemory: 1 }),
    async effects(run) {
      const lines = (await readFile(file, 'utf8')).trim().split('\n');
      return lines.map((line) => JSON.parse(line) as Effect).filter((effect) => effect.run === run);
    },
    async close() {
      await storage.records.close();
      await storage.payloads.close();
      await rm(folder, { recursive: true });
    },
  };
}
