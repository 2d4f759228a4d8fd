import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { dynamoRecordStore } from '../../lambda/storage/dynamodb/dynamo-records.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { s3PayloadStore } from '../../lambda/storage/s3/s3-payloads.ts';
import { repeats } from '../deep.ts';
import { dynamoClient, freshBucket, freshTable, s3Client } from '../engines/engines.ts';
import { memoryFolder } from '../memory-folder.ts';
import type { Counted } from './child-saving.ts';
import { randomFrom } from './seeded.ts';

const CHILD = fileURLToPath(new URL('./child-saving.ts', import.meta.url));

interface SharedStorage {
  /** The environment variables with which a child process finds the storage. */
  readonly env: Readonly<Record<string, string>>;
  readonly storage: Storage;
}

async function inFolder(): Promise<SharedStorage> {
  const folder = memoryFolder();
  return { env: { WAITSTATE_FOLDER: folder }, storage: embeddedStorage({ folder }) };
}

async function onAws(): Promise<SharedStorage> {
  const [table, bucket] = await Promise.all([freshTable(), freshBucket()]);
  const endpoint = (name: 'dynamodb' | 's3') => {
    const engine = inject(name);
    if ('missing' in engine) throw new Error(engine.missing);
    return engine.endpoint;
  };
  return {
    env: {
      WAITSTATE_TABLE: table,
      WAITSTATE_BUCKET: bucket,
      DYNAMODB_ENDPOINT: endpoint('dynamodb'),
      S3_ENDPOINT: endpoint('s3'),
    },
    storage: {
      records: dynamoRecordStore({ table, client: dynamoClient() }),
      payloads: s3PayloadStore({ bucket, client: s3Client() }),
    },
  };
}

const spawnChild = ({ env }: SharedStorage, ...args: string[]): ChildProcess =>
  spawn(process.execPath, [CHILD, ...args], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });

/** The output of a child line by line, and its errors after it has exited. */
function readOutput(child: ChildProcess) {
  let errors = '';
  child.stderr?.on('data', (data) => {
    errors += data;
  });
  const lines = child.stdout && createInterface({ input: child.stdout });
  return { errors: () => errors, lines, closed: once(child, 'close') };
}

/** Lets a child save until it has confirmed a number of versions, kills it after a delay, and returns them. */
async function saveUntilKilled(
  shared: SharedStorage,
  run: string,
  confirmations: number,
  delay: number,
): Promise<readonly number[]> {
  const child = spawnChild(shared, 'save', run);
  const { lines, closed, errors } = readOutput(child);
  const confirmed: number[] = [];
  lines?.on('line', (line) => {
    confirmed.push(Number(line));
    // Somewhere in the middle of the saves that follow.
    if (confirmed.length === confirmations) setTimeout(() => child.kill('SIGKILL'), delay);
  });
  const [, signal] = await closed;
  if (signal !== 'SIGKILL') throw new Error(`The child exited before it was killed: ${errors()}`);
  return confirmed;
}

describe.each([
  ['in a folder', inFolder, repeats(2, 8)],
  ['on DynamoDB and S3', onAws, repeats(2, 5)],
] as const)('processes %s', (_, open, kills) => {
  const killed = `killed ${inject('testRun')}`;
  const counter = `counter ${inject('testRun')}`;
  let shared: SharedStorage;
  beforeAll(async () => {
    shared = await open();
  });
  afterAll(async () => {
    await shared.storage.records.close();
    const { WAITSTATE_FOLDER: folder } = shared.env;
    if (folder) await rm(folder, { recursive: true });
  });

  test('keep all confirmed saves when they are killed, and the next process continues from there', async () => {
    const random = randomFrom(3);
    const confirmed: number[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const versions = await saveUntilKilled(shared, killed, 1 + Math.floor(random() * 20), random() * 30);
      const [first = 0] = versions;
      // A killed process may have saved one version that it did not confirm.
      expect(first - (confirmed.at(-1) ?? 0)).toBeGreaterThanOrEqual(1);
      expect(first - (confirmed.at(-1) ?? 0)).toBeLessThanOrEqual(2);
      confirmed.push(...versions);
    }
    const store = createCheckpointStore<Counted>(shared.storage);
    const { version, state } = await store.load(killed);
    expect(version).toBeGreaterThanOrEqual(confirmed.at(-1) ?? 0);
    // Each process continued with the count that the previous one had saved.
    expect(state.count).toBe(version);
    const versions: number[] = [];
    for await (const found of store.history(killed)) versions.push(found.version);
    expect(versions).toEqual(Array.from({ length: version }, (_, index) => index + 1));
    expect((await store.verify(killed)).problems).toEqual([]);
    for (const at of confirmed) expect((await store.load(killed, at)).state.count).toBe(at);
  });

  test('count correctly when ten of them update one counter concurrently', async () => {
    const store = createCheckpointStore<Counted>(shared.storage);
    await store.save({ run: counter, expectedVersion: 0, state: { count: 0, log: [] } });
    const TIMES = 5;
    const versions = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const child = spawnChild(shared, 'count', counter, String(TIMES));
        const { lines, closed, errors } = readOutput(child);
        const confirmed: number[] = [];
        lines?.on('line', (line) => confirmed.push(Number(line)));
        const [code] = await closed;
        if (code !== 0) throw new Error(`A child ended with ${code}: ${errors()}`);
        return confirmed;
      }),
    );
    const { version, state } = await store.load(counter);
    expect([version, state.count]).toEqual([10 * TIMES + 1, 10 * TIMES]);
    // Each of them got a different version.
    expect(versions.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 10 * TIMES }, (_, index) => index + 2));
    expect((await store.verify(counter)).problems).toEqual([]);
  });
});
