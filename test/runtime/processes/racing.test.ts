import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repeats } from '../../deep.ts';
import { DAY, MINUTE } from '../../faults/clock.ts';
import { payloadIdsOf, recordsOf } from '../../faults/invariants.ts';
import { randomFrom } from '../../faults/seeded.ts';
import type { CommandOutcome, Line } from './commands.ts';
import { INPUT, Journey } from './journey.ts';
import { journeyOutcomes } from './outcome.ts';
import { type Scene, sceneIn } from './scene.ts';
import { SHARED_STORAGES } from './shared-storage.ts';
import type { Worker } from './worker.ts';

const SEEDS = { 'in a folder': repeats(4, 10), 'on DynamoDB and S3': repeats(2, 4) };
// In `npm test`, a zombie stops at every fifth of these moments, and a signal is sent at every third one.
const NTH_STOP = repeats(5, 1);
const NTH_SIGNAL = repeats(3, 1);
// The moments at which a zombie stops; on the engines, only before side effects and writes.
const STOPS = { 'in a folder': /./, 'on DynamoDB and S3': /^invoke: (to commit|before|put)/ };

// Each test starts at a later time than the one before: the clock of a process never goes back.
let today = Date.UTC(2030, 0, 2);

describe.each(SHARED_STORAGES)('concurrent processes %s', (storageName, open) => {
  let scene: Scene;
  let workers: readonly [Worker, Worker];
  beforeAll(async () => {
    scene = await sceneIn(open);
    workers = [scene.pool.take(), scene.pool.take()];
  });
  afterAll(() => scene.close());

  /** Runs a run to its end, whichever process had it before. */
  async function finish(run: string, worker: Worker, now: number): Promise<void> {
    await new Journey(scene.shared, scene.pool, worker, {
      run,
      dies: () => false,
      deaths: 0,
      again: 'lambda',
      now,
    }).travel();
    expect(await journeyOutcomes(scene.shared, run)).toEqual(scene.undisturbed);
  }

  const invoking = (run: string, by: string, now: number) =>
    ({ do: 'invoke', agent: 'trip', run, by, now, seconds: 60, held: true }) as const;

  test.each([
    ['the second one skips the run', 0, 'skipped'],
    ['the older one is fenced when its lease has ended', 2 * MINUTE, 'fenced'],
  ])('do not disturb each other, because %s', async (_, apart, expected) => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= SEEDS[storageName]; seed++) {
      today += DAY;
      const run = `race ${apart} ${seed}`;
      const [a, b] = workers;
      await a.perform({ do: 'start', agent: 'trip', run, input: INPUT, now: today });
      const random = randomFrom(seed);
      a.send(invoking(run, 'a', today));
      await a.nextLine();
      // The other process starts when this one is somewhere in the middle.
      const passes = 1 + Math.floor(random() * 20);
      for (let passed = 0; passed < passes; passed++) {
        a.resume();
        await a.nextLine();
      }
      b.send(invoking(run, 'b', today + apart));
      const ends = await race(random, [a, b]);
      const endings = ends.map((end) => ('value' in end ? Object(end.value).end : end.error));
      // The process that suspends the run has done all the work; the other one skipped the run or was fenced.
      const other = endings.find((end) => end !== 'suspended');
      expect(endings.toSorted(), `seed ${seed}`).toEqual([other, 'suspended']);
      seen.add(String(other));
      if (apart === 0) expect(endings, 'the process with the lease').toEqual(['suspended', 'skipped']);
      await finish(run, a, today + apart);
    }
    expect(seen).toContain(expected);
  });

  test('lose their writes when they were stopped and another process has claimed the run', async () => {
    const { shared, moments } = scene;
    const first = moments.findIndex((moment) => moment.startsWith('invoke'));
    const last = moments.findIndex((_, i) => moments[i + 1]?.includes('before reserve')) - 2;
    const [zombie, other] = workers;
    const ends: string[] = [];
    const stops = moments.flatMap((moment, at) =>
      at >= first && at < last && STOPS[storageName].test(moment) ? [at] : [],
    );
    for (const at of stops.filter((_, i) => i % NTH_STOP === 0)) {
      today += DAY;
      const run = `zombie ${at}`;
      await other.perform({ do: 'start', agent: 'trip', run, input: INPUT, now: today });
      zombie.send(invoking(run, 'zombie', today));
      await zombie.nextLine();
      for (let passed = first; passed < at; passed++) {
        zombie.resume();
        await zombie.nextLine();
      }
      zombie.stop();
      await finish(run, other, today);
      const before = [await recordsOf(shared.storage, run), await payloadIdsOf(shared.storage, run)];
      zombie.continue();
      const end = await zombie.finish();
      ends.push(Object(Object(end).value).end);
      expect([await recordsOf(shared.storage, run), await payloadIdsOf(shared.storage, run)], moments[at]).toEqual(
        before,
      );
      expect(await journeyOutcomes(shared, run)).toEqual(scene.undisturbed);
    }
    // Before its claim, the zombie skips the run.
    expect(new Set(ends)).toEqual(new Set(['skipped', 'fenced']));
  });

  test('receive a signal that another process sends at any moment, without a sweep', async () => {
    const [a, b] = workers;
    let isOver = false;
    for (let at = 1; !isOver; at += NTH_SIGNAL) {
      today += DAY;
      const run = `signal at ${at}`;
      const invoke = { ...invoking(run, 'a', today), agent: 'chat' };
      await a.perform({ do: 'start', agent: 'chat', run, input: null, now: today });
      a.send(invoke);
      let line = await a.nextLine();
      for (let passed = 1; passed < at && 'moment' in line; passed++) {
        a.resume();
        line = await a.nextLine();
      }
      const sent = await b.perform({
        do: 'signal',
        agent: 'chat',
        run,
        now: today,
        name: 'reply',
        value: 'hi',
        id: 'x',
      });
      expect(sent).toMatchObject({ value: true });
      // In the last round the run was suspended before the signal.
      isOver = !('moment' in line);
      if (!isOver) await a.finish();
      if (sent.delivered.length > 0) await b.perform({ ...invoke, by: 'b', held: false });
      const { state, status } = (await scene.shared.agents(today).get('chat')?.store.load(run)) ?? {};
      expect([status, Object(state).count], `moment ${at}`).toEqual(['WAITING_FOR_SIGNAL', 2]);
    }
  });
});

/** Resumes two processes moment by moment in a seeded order; the first one is paused at a moment. */
async function race(
  random: () => number,
  [first, second]: readonly [Worker, Worker],
): Promise<readonly CommandOutcome[]> {
  const lines: [Line, Line] = [{ moment: '' }, await second.nextLine()];
  for (;;) {
    const held = [first, second].filter((_, i) => 'moment' in Object(lines[i]));
    const next = held[Math.floor(random() * held.length)];
    if (!next) return lines as readonly CommandOutcome[];
    next.resume();
    lines[next === first ? 0 : 1] = await next.nextLine();
  }
}
