import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, inject, test, vi } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { type KeyRing, localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { escapeId } from '../../lambda/core/ids.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { awsStorage } from '../engines/engines.ts';
import { type Clock, clockAt, DAY } from './clock.ts';
import { commands } from './model/commands.ts';
import { expectSameCheckpoint } from './model/comparing.ts';
import { expiryOf, Model } from './model/model.ts';
import type { World } from './model/world.ts';
import { repeatable } from './repeatable.ts';
import { seedIds } from './seeded.ts';
import { withInlineBytes, withPayloadTimes } from './storages.ts';

vi.mock('node:crypto', async (original) => ({
  ...(await original<typeof import('node:crypto')>()),
  randomBytes: (await import('./seeded.ts')).seededBytes,
}));
vi.mock('node:timers/promises', async (original) => ({
  ...(await original<typeof import('node:timers/promises')>()),
  setTimeout: async () => {},
}));

const INLINE_BYTES = 700;
const keys = localKeys({ current: 'k', keys: { k: new Uint8Array(32).fill(7) } });

let sequences = 0;

/** Runs one sequence on the model and on stores of a separate tenant, and compares them. */
async function expectSameAsModel(
  sequence: Iterable<fc.AsyncCommand<Model, World>>,
  clock: Clock,
  on: Storage,
  ring?: KeyRing,
) {
  const tenant = `${inject('testRun')} ${++sequences}`;
  const storage = withInlineBytes(on, INLINE_BYTES);
  seedIds(0);
  const reopen = (index: number) =>
    createCheckpointStore(storage, {
      ...{ tenant, clock: clock.read, writer: `process ${index}`, runsInMemory: index === 0 ? 1 : 32 },
      ...(ring && { keys: ring }),
    });
  const model = new Model(clock.now);
  const world: World = {
    ...{ clock, reopen, stores: [0, 1, 2].map(reopen), seen: [0, 1, 2].map(() => new Map()) },
    ...{ saves: new Map(), writeIds: 0 },
  };
  await fc.asyncModelRun(() => ({ model, real: world }), sequence);
  await expectAllStored(model, reopen(3));
  await expectAllDeletable(model, world, storage, tenant);
}

async function expectAllStored(model: Model, store: ReturnType<World['reopen']>): Promise<void> {
  for (const run of model.runs.values()) {
    if (run.deletedUntil !== undefined || expiryOf(run) <= model.now) continue;
    const { id, versions, names } = run;
    const { ok, problems } = await store.verify(id);
    if (!ok) throw new Error(`Run ${id} does not verify: ${JSON.stringify(problems)}`);
    for (const version of versions)
      if (!version.pruned) await expectSameCheckpoint(version, await store.load(id, version.version));
    for (const name of names.keys())
      await expectSameCheckpoint(model.load(id, { name }), await store.load(id, { name }));
    const found: number[] = [];
    for await (const { version } of store.history(id)) found.push(version);
    if (found.join() !== versions.map(({ version }) => version).join()) throw new Error(`Run ${id} has ${found}.`);
  }
}

/** Two days after a deletion, no record and no payload is left. */
async function expectAllDeletable(model: Model, world: World, storage: Storage, tenant: string): Promise<void> {
  const store = world.reopen(4);
  for (const id of model.runs.keys()) await store.delete(id);
  world.clock.now += 2 * DAY;
  await store.sweep();
  await store.collect();
  const left: string[] = [];
  for (const id of ['a', 'b', 'c']) {
    const { records } = await storage.records.range(`${escapeId('tenant', tenant)}/${id}`);
    left.push(...records.map(({ key }) => `${id}/${key}`));
  }
  for await (const { id } of storage.payloads.list(escapeId('tenant', tenant))) left.push(id);
  if (left.length > 0) throw new Error(`Everything was deleted, but these remain: ${left.join(', ')}`);
}

const sequencesOf = (maxCommands: number) => fc.commands([...commands], { maxCommands, size: 'max' });

describe('checkpoint stores of three processes under random operations', () => {
  test('behave like a plain list of versions in memory', async () => {
    await fc.assert(
      fc.asyncProperty(sequencesOf(40), async (sequence) => {
        const clock = clockAt();
        await expectSameAsModel(sequence, clock, memoryStorage({ clock: clock.read }));
      }),
      repeatable(400),
    );
  });

  test('behave like a plain list of versions in memory with encryption', async () => {
    await fc.assert(
      fc.asyncProperty(sequencesOf(40), async (sequence) => {
        const clock = clockAt();
        await expectSameAsModel(sequence, clock, memoryStorage({ clock: clock.read }), keys);
      }),
      repeatable(150),
    );
  });

  describe('in a folder', () => {
    const clock = clockAt();
    let folder: string;
    let storage: Storage;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'waitstate-model-'));
      storage = embeddedStorage({ folder, clock: clock.read });
    });
    afterAll(async () => {
      await storage.records.close();
      await rm(folder, { recursive: true });
    });

    test('behave like a plain list of versions', async () => {
      await fc.assert(
        fc.asyncProperty(sequencesOf(30), async (sequence) => {
          clock.now = clockAt().now;
          await expectSameAsModel(sequence, clock, storage);
        }),
        repeatable(25),
      );
    });
  });

  test('behave like a plain list of versions on DynamoDB and S3', async () => {
    const clock = clockAt();
    const storage = withPayloadTimes(await awsStorage(), clock.read);
    await fc.assert(
      fc.asyncProperty(sequencesOf(30), async (sequence) => {
        clock.now = clockAt().now;
        await expectSameAsModel(sequence, clock, storage);
      }),
      repeatable(15),
    );
  });
});
