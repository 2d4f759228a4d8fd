import { expect } from 'vitest';
import type { Checkpoint } from '../../../lambda/checkpoints/checkpoint.ts';
import { isWaitstateError } from '../../../lambda/core/errors.ts';
import { toPartition } from '../../../lambda/core/ids.ts';
import { DAY } from '../clock.ts';
import { type Choose, Interleaving } from '../interleaving.ts';
import { expectNoOrphans, expectSoundRun, payloadIdsOf, recordsOf, TENANT } from '../invariants.ts';
import { FORK, RUN, type Scene, type State, type Store, sceneOf } from '../scene.ts';
import { seedIds } from '../seeded.ts';
import { copyInto } from '../storages.ts';
import type { Race } from './race.ts';

/** Runs a race in one order, on a copy of the prepared storage, and checks the result. */
export async function runRace(
  race: Race,
  prepared: Scene,
  before: Awaited<ReturnType<typeof expectSoundRun>>,
  choose: Choose,
) {
  const scene = sceneOf(race.encrypted ?? false);
  const { storage, clock, open } = scene;
  seedIds(1);
  await copyInto(storage, prepared.storage, [toPartition(TENANT, RUN)]);
  clock.now = prepared.clock.now + (race.later ?? 0);
  const interleaving = new Interleaving(race.actors.length);
  const stores = race.actors.map(({ key }, index) => open(interleaving.storageFor(index, storage), key));
  for (const [index, { warm }] of race.actors.entries()) if (warm) await stores[index]?.load(RUN);
  const outcomes = await interleaving.run(
    race.actors.map((actor, index) => () => actor.run(stores[index] as Store, scene)),
    choose,
  );

  const won: Checkpoint<State>[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') {
      if (isCheckpoint(outcome.value)) won.push(outcome.value);
    } else if (!isWaitstateError(outcome.reason) || !race.actors[index]?.mayFail?.includes(outcome.reason.code)) {
      throw new Error(`The process that ${race.actors[index]?.does} failed: ${String(outcome.reason)}`, {
        cause: outcome.reason,
      });
    }
  }
  const sound = await expectSoundRun(open(), RUN);
  expectNothingLost(race, before, sound);
  const saved = won.map(({ run, version }) => `${run}/${version}`);
  expect(new Set(saved).size).toBe(saved.length);
  for (const { run, version, writeId } of won) await expectStored(race, open(), run, version, writeId);
  await expectSoundRun(open(), FORK);
  await race.check?.(outcomes, scene, sound);

  await expectCleanUp(scene, sound);
}

const isCheckpoint = (value: unknown): value is Checkpoint<State> =>
  typeof value === 'object' && value !== null && 'writeId' in value;

function expectNothingLost(
  race: Race,
  before: Awaited<ReturnType<typeof expectSoundRun>>,
  after: Awaited<ReturnType<typeof expectSoundRun>>,
): void {
  if (typeof after === 'string') {
    expect(typeof before === 'string' ? [...(race.mayBeGone ?? []), before] : race.mayBeGone).toContain(after);
    return;
  }
  if (typeof before === 'string') return;
  for (const [version, content] of before)
    if (after.has(version) || !race.prunes) expect(after.get(version)).toEqual(content);
}

/** A confirmed checkpoint is stored, unless the race may remove it. */
async function expectStored(race: Race, store: Store, run: string, version: number, writeId: string): Promise<void> {
  try {
    expect((await store.load(run, version)).writeId).toBe(writeId);
  } catch (error) {
    const known = [...(race.mayBeGone ?? []), ...(race.prunes ? ['CHECKPOINT_PRUNED'] : [])];
    if (!isWaitstateError(error) || !known.includes(error.code) || run !== RUN) throw error;
  }
}

/** Two days later a collection removes orphans only; a deletion then removes everything else. */
async function expectCleanUp(
  { storage, clock, open }: Scene,
  sound: Awaited<ReturnType<typeof expectSoundRun>>,
): Promise<void> {
  clock.now += 2 * DAY;
  const store = open();
  expect((await store.collect()).failed).toEqual([]);
  await expectNoOrphans(storage, RUN);
  await expectNoOrphans(storage, FORK);
  const later = await expectSoundRun(open(), RUN);
  if (later !== 'RUN_EXPIRED') expect(later).toEqual(sound);
  for (const run of [RUN, FORK]) if ((await recordsOf(storage, run)).length > 0) await store.delete(run);
  clock.now += 2 * DAY;
  await store.sweep();
  for (const run of [RUN, FORK]) {
    expect(await recordsOf(storage, run)).toEqual([]);
    expect(await payloadIdsOf(storage, run)).toEqual([]);
  }
}
