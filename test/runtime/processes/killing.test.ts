import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repeats } from '../../deep.ts';
import { randomFrom } from '../../faults/seeded.ts';
import { Journey } from './journey.ts';
import { journeyOutcomes, outcomeOf } from './outcome.ts';
import { type Scene, sceneIn } from './scene.ts';
import { SHARED_STORAGES } from './shared-storage.ts';

// Every 17th moment in `npm test`, and every second one in `npm run test:deep`. On the engines, which are several times
// slower, only moments after writes (every 23rd, every fourth), and the one between a payment and its record.
const MOMENTS = {
  'in a folder': (moments: readonly string[]) =>
    everyNth(
      moments.map((_, i) => i),
      repeats(17, 2),
    ),
  'on DynamoDB and S3': (moments: readonly string[]) => {
    const stored = moments.flatMap((moment, i) => (/: (committed|put)$/.test(moment) ? [i] : []));
    return [...everyNth(stored, repeats(23, 4)), moments.indexOf('invoke: after pay')];
  },
};

const everyNth = (indexes: readonly number[], n: number): readonly number[] => indexes.filter((_, i) => i % n === 0);

describe.each(SHARED_STORAGES)('killed processes %s', (storageName, open) => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await sceneIn(open);
  });
  afterAll(() => scene.close());

  test('are compared with a journey without kills, which runs each step once', async () => {
    const [trip, hotel] = scene.undisturbed;
    expect(trip).toMatchObject({
      status: 'SUCCEEDED',
      result: { approved: true, by: ['user:0', 'user:1'], paid: 'done: pay', pass: 'Gate B7, done: print' },
    });
    expect(hotel).toMatchObject({ status: 'FAILED', effects: ['forget', 'guest', 'release', 'reserve'] });
  });

  test('leave a run that ends with the same outcome, at whichever moment they are killed', async () => {
    const { shared, pool, moments, undisturbed } = scene;
    let worker = pool.take();
    for (const index of MOMENTS[storageName](moments)) {
      const run = `killed at ${index}`;
      const again = index % 3 === 0 ? 'lambda' : 'sweeper';
      const dies = (count: number) => count === index + 1;
      const journey = new Journey(shared, pool, worker, { run, dies, deaths: 1, again });
      await journey.travel();
      worker = journey.worker;
      expect(journey.deaths).toEqual([moments[index]]);
      expect(await journeyOutcomes(shared, run), moments[index]).toEqual(undisturbed);
    }
  }, 300_000);

  test.each(repeats([1], [1, 2, 3]))(
    'leave a run that ends with the same outcome when they are killed repeatedly (seed %i)',
    async (seed) => {
      const { shared, pool, undisturbed } = scene;
      const random = randomFrom(seed);
      let next = 0;
      // Each process makes progress before it is killed: a run without progress would fail.
      const later = (count: number) => count + 14 + Math.floor(random() * 12);
      const dies = (count: number) => {
        if (next === 0) next = later(0);
        if (count < next) return false;
        next = later(count);
        return true;
      };
      const run = `killed often ${seed}`;
      const again = seed % 2 === 0 ? 'lambda' : 'sweeper';
      const journey = new Journey(shared, pool, pool.take(), { run, dies, again });
      await journey.travel();
      expect(journey.deaths.length).toBeGreaterThan(4);
      expect(await journeyOutcomes(shared, run)).toEqual(undisturbed);
      expect(againAfterRecorded(journey.moments)).toEqual([]);
    },
  );

  test('never run an at-most-once step again, and its outcome is unknown', async () => {
    const { shared, pool } = scene;
    for (const moment of ['before wire', 'after wire', 'recorded wire']) {
      const run = `once, ${moment}`;
      const now = Date.UTC(2030, 0, 1);
      const command = { agent: 'once', run, now, held: true };
      const first = pool.take();
      await first.perform({ ...command, held: false, do: 'start', input: null });
      first.send({ ...command, do: 'invoke', by: 'a', seconds: 900 });
      await first.advanceTo(moment);
      await pool.kill(first);
      const second = pool.take();
      expect(await second.perform({ ...command, held: false, do: 'invoke', by: 'a', seconds: 900 })).toMatchObject({
        value: { end: 'finished' },
      });
      const { status, result } = await outcomeOf(shared, 'once', run);
      expect([status, result]).toEqual(['SUCCEEDED', moment === 'recorded wire' ? 'done: wire' : 'OUTCOME_UNKNOWN']);
      expect(await shared.effects(run)).toHaveLength(moment === 'before wire' ? 0 : 1);
      await pool.kill(second);
    }
  });
});

/** The steps that started again after they had been recorded. */
function againAfterRecorded(moments: readonly string[]): readonly string[] {
  const recorded = new Set<string>();
  return moments.flatMap((moment) => {
    const [, what, step = ''] = /(before|recorded) (.*)/.exec(moment) ?? [];
    if (what === 'recorded') recorded.add(step);
    return what === 'before' && recorded.has(step) ? [step] : [];
  });
}
