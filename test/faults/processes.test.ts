import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { dynamoRecordStore } from '../../lambda/storage/dynamodb/dynamo-records.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { s3PayloadStore } from '../../lambda/storage/s3/s3-payloads.ts';
import { dynamoClient, freshBucket, freshTable, s3Client } from '../engines/engines.ts';
import type { Counted } from './child-saving.ts';
import { randomFrom } from './seeded.ts';

const CHILD = fileURLToPath(new URL('./child-saving.ts', import.meta.url));

interface Place {
  /** The environment in which a child finds the storage. */
  readonly env: Readonly<Record<string, string>>;
  readonly storage: Storage;
}

async function inFolder(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'waitstate-processes-'));
  return { env: { WAITSTATE_FOLDER: folder }, storage: embeddedStorage({ folder }) };
}

async function onAws(): Promise<Place> {
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

const begin = ({ env }: Place, ...args: string[]): ChildProcess =>
  spawn(process.execPath, [CHILD, ...args], { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });

/** The output of a child line by line, and its errors after it has exited. */
function listen(child: ChildProcess) {
  let errors = '';
  child.stderr?.on('data', (data) => {
    errors += data;
  });
  const lines = child.stdout && createInterface({ input: child.stdout });
  return { errors: () => errors, lines, over: once(child, 'close') };
}

/** Lets a child save until it has confirmed a number of versions, and kills it a little later. */
async function saveAndDie(place: Place, run: string, confirmations: number, later: number): Promise<readonly number[]> {
  const child = begin(place, 'save', run);
  const { lines, over, errors } = listen(child);
  const confirmed: number[] = [];
  lines?.on('line', (line) => {
    confirmed.push(Number(line));
    // Somewhere in the middle of the saves that follow.
    if (confirmed.length === confirmations) setTimeout(() => child.kill('SIGKILL'), later);
  });
  const [, signal] = await over;
  if (signal !== 'SIGKILL') throw new Error(`The child exited before it was killed: ${errors()}`);
  return confirmed;
}

describe.each([
  ['in a folder', inFolder, 8],
  ['on DynamoDB and S3', onAws, 5],
] as const)('processes %s', (_, open, kills) => {
  const killed = `killed ${inject('testRun')}`;
  const counter = `counter ${inject('testRun')}`;
  let place: Place;
  beforeAll(async () => {
    place = await open();
  });
  afterAll(async () => {
    await place.storage.records.close();
    const { WAITSTATE_FOLDER: folder } = place.env;
    if (folder) await rm(folder, { recursive: true });
  });

  test('that are killed while they save keep all confirmed saves, and the next process continues from there', async () => {
    const random = randomFrom(3);
    const confirmed: number[] = [];
    for (let kill = 0; kill < kills; kill++) {
      const versions = await saveAndDie(place, killed, 1 + Math.floor(random() * 20), random() * 30);
      const [first = 0] = versions;
      // What was saved and not said is there too, at most one write of each process.
      expect(first - (confirmed.at(-1) ?? 0)).toBeGreaterThanOrEqual(1);
      expect(first - (confirmed.at(-1) ?? 0)).toBeLessThanOrEqual(2);
      confirmed.push(...versions);
    }
    const store = createCheckpointStore<Counted>(place.storage);
    const { version, state } = await store.load(killed);
    expect(version).toBeGreaterThanOrEqual(confirmed.at(-1) ?? 0);
    // Each process counted on from what the one before it had saved.
    expect(state.count).toBe(version);
    const versions: number[] = [];
    for await (const found of store.history(killed)) versions.push(found.version);
    expect(versions).toEqual(Array.from({ length: version }, (_, index) => index + 1));
    expect((await store.verify(killed)).problems).toEqual([]);
    for (const at of confirmed) expect((await store.load(killed, at)).state.count).toBe(at);
  });

  test('ten at once that update one counter count right', async () => {
    const store = createCheckpointStore<Counted>(place.storage);
    await store.save({ run: counter, expectedVersion: 0, state: { count: 0, log: [] } });
    const TIMES = 5;
    const versions = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const child = begin(place, 'count', counter, String(TIMES));
        const { lines, over, errors } = listen(child);
        const said: number[] = [];
        lines?.on('line', (line) => said.push(Number(line)));
        const [code] = await over;
        if (code !== 0) throw new Error(`A child ended with ${code}: ${errors()}`);
        return said;
      }),
    );
    const { version, state } = await store.load(counter);
    expect([version, state.count]).toEqual([10 * TIMES + 1, 10 * TIMES]);
    // Each of them got a different version.
    expect(versions.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 10 * TIMES }, (_, index) => index + 2));
    expect((await store.verify(counter)).problems).toEqual([]);
  });
});
