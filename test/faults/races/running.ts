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

/** Runs a race in one order, on a copy of what was prepared, and looks at what came of it. */
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
      throw new Error(`Who ${race.actors[index]?.does} got: ${String(outcome.reason)}`, { cause: outcome.reason });
    }
  }
  const sound = await expectSoundRun(open(), RUN);
  expectNothingLost(race, before, sound);
  const places = won.map(({ run, version }) => `${run}/${version}`);
  expect(new Set(places).size).toBe(places.length);
  for (const { run, version, writeId } of won) await expectThere(race, open(), run, version, writeId);
  await expectSoundRun(open(), FORK);
  await race.check?.(outcomes, scene, sound);

  await expectNothingLeft(scene);
}

const isCheckpoint = (value: unknown): value is Checkpoint<State> =>
  typeof value === 'object' && value !== null && 'writeId' in value;

function expectNothingLost(
  race: Race,
  before: Awaited<ReturnType<typeof expectSoundRun>>,
  after: Awaited<ReturnType<typeof expectSoundRun>>,
): void {
  if (typeof after === 'string') {
    expect(typeof before === 'string' ? [...(race.mayGo ?? []), before] : race.mayGo).toContain(after);
    return;
  }
  if (typeof before === 'string') return;
  for (const [version, content] of before)
    if (after.has(version) || !race.prunes) expect(after.get(version)).toEqual(content);
}

/** What was confirmed is there. */
async function expectThere(race: Race, store: Store, run: string, version: number, writeId: string): Promise<void> {
  try {
    expect((await store.load(run, version)).writeId).toBe(writeId);
  } catch (error) {
    const known = [...(race.mayGo ?? []), ...(race.prunes ? ['CHECKPOINT_PRUNED'] : [])];
    if (!isWaitstateError(error) || !known.includes(error.code) || run !== RUN) throw error;
  }
}

/** Orphans go after two days and nothing else does; what is deleted then goes to the last byte. */
async function expectNothingLeft({ storage, clock, open }: Scene): Promise<void> {
  const sound = await expectSoundRun(open(), RUN);
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
