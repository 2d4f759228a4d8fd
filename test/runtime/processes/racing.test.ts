import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY, MINUTE } from '../../faults/clock.ts';
import { payloadIdsOf, recordsOf } from '../../faults/invariants.ts';
import { randomFrom } from '../../faults/seeded.ts';
import type { Answered, Line } from './commands.ts';
import { INPUT, Journey } from './journey.ts';
import { journeyOutcomes } from './outcome.ts';
import { type Scene, sceneIn } from './scene.ts';
import { SHARED_STORAGES } from './shared-storage.ts';
import type { Worker } from './worker.ts';

const SEEDS = { 'in a folder': 10, 'on DynamoDB and S3': 4 };
// Where a zombie stops; on the engines, before what it does next to the world or to the storage.
const STOPS = { 'in a folder': /./, 'on DynamoDB and S3': /^invoke: (to commit|before|put)/ };

// Each test begins later than what was before it: the time of a process never goes back.
let today = Date.UTC(2030, 0, 2);

describe.each(SHARED_STORAGES)('processes at the same time %s', (where, open) => {
  let scene: Scene;
  let workers: readonly [Worker, Worker];
  beforeAll(async () => {
    scene = await sceneIn(open);
    workers = [scene.crew.take(), scene.crew.take()];
  });
  afterAll(() => scene.close());

  /** Takes a run to its end, whoever had it before. */
  async function finish(run: string, worker: Worker, now: number): Promise<void> {
    await new Journey(scene.place, scene.crew, worker, {
      run,
      dies: () => false,
      deaths: 0,
      again: 'lambda',
      now,
    }).travel();
    expect(await journeyOutcomes(scene.place, run)).toEqual(scene.undisturbed);
  }

  const invoking = (run: string, by: string, now: number) =>
    ({ do: 'invoke', agent: 'trip', run, by, now, seconds: 60, held: true }) as const;

  test.each([
    ['one steps aside', 0, 'skipped'],
    ['the older one is fenced, when its lease is over', 2 * MINUTE, 'fenced'],
  ])('do not disturb each other: %s', async (_, apart, expected) => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= SEEDS[where]; seed++) {
      today += DAY;
      const run = `race ${apart} ${seed}`;
      const [a, b] = workers;
      await a.does({ do: 'start', agent: 'trip', run, input: INPUT, now: today });
      const random = randomFrom(seed);
      a.tell(invoking(run, 'a', today));
      await a.heard();
      // The other comes when this one is somewhere in the middle.
      const passes = 1 + Math.floor(random() * 20);
      for (let passed = 0; passed < passes; passed++) {
        a.go();
        await a.heard();
      }
      b.tell(invoking(run, 'b', today + apart));
      const ends = await race(random, [a, b]);
      const how = ends.map((end) => ('value' in end ? Object(end.value).end : end.error));
      // Who suspends it has done all there was to do; the other found it taken or waiting, or lost it.
      const other = how.find((end) => end !== 'suspended');
      expect(how.toSorted(), `seed ${seed}`).toEqual([other, 'suspended']);
      seen.add(String(other));
      if (apart === 0) expect(how, 'who has the run').toEqual(['suspended', 'skipped']);
      await finish(run, a, today + apart);
    }
    expect(seen).toContain(expected);
  });

  test('lose what they write when they were stopped and another has taken the run', async () => {
    const { place, moments } = scene;
    const first = moments.findIndex((moment) => moment.startsWith('invoke'));
    const last = moments.findIndex((_, i) => moments[i + 1]?.includes('before reserve')) - 2;
    const [zombie, other] = workers;
    const ends: string[] = [];
    for (let at = first; at < last; at++) {
      if (!STOPS[where].test(moments[at] ?? '')) continue;
      today += DAY;
      const run = `zombie ${at}`;
      await other.does({ do: 'start', agent: 'trip', run, input: INPUT, now: today });
      zombie.tell(invoking(run, 'zombie', today));
      await zombie.heard();
      for (let passed = first; passed < at; passed++) {
        zombie.go();
        await zombie.heard();
      }
      zombie.stop();
      await finish(run, other, today);
      const before = [await recordsOf(place.storage, run), await payloadIdsOf(place.storage, run)];
      zombie.continue();
      const end = await zombie.finishes();
      ends.push(Object(Object(end).value).end);
      expect([await recordsOf(place.storage, run), await payloadIdsOf(place.storage, run)], moments[at]).toEqual(
        before,
      );
      expect(await journeyOutcomes(place, run)).toEqual(scene.undisturbed);
    }
    // Before it had claimed the run it steps aside.
    expect(new Set(ends)).toEqual(new Set(['skipped', 'fenced']));
  });

  test('find what another sends them at any moment, without anybody who looks for it', async () => {
    const [a, b] = workers;
    let isOver = false;
    for (let at = 1; !isOver; at++) {
      today += DAY;
      const run = `signal at ${at}`;
      const invoke = { ...invoking(run, 'a', today), agent: 'chat' };
      await a.does({ do: 'start', agent: 'chat', run, input: null, now: today });
      a.tell(invoke);
      let line = await a.heard();
      for (let passed = 1; passed < at && 'moment' in line; passed++) {
        a.go();
        line = await a.heard();
      }
      const sent = await b.does({ do: 'signal', agent: 'chat', run, now: today, name: 'reply', value: 'hi', id: 'x' });
      expect(sent).toMatchObject({ value: true });
      // The last time round it had suspended by itself.
      isOver = !('moment' in line);
      if (!isOver) await a.finishes();
      if (sent.delivered.length > 0) await b.does({ ...invoke, by: 'b', held: false });
      const { state, status } = (await scene.place.agents(today).get('chat')?.store.load(run)) ?? {};
      expect([status, Object(state).count], `moment ${at}`).toEqual(['WAITING_FOR_SIGNAL', 2]);
    }
  });
});

/** Lets processes go on, one moment of one of them at a time, in the order of a seed; the first is at a moment. */
async function race(random: () => number, [first, second]: readonly [Worker, Worker]): Promise<readonly Answered[]> {
  const lines: [Line, Line] = [{ moment: '' }, await second.heard()];
  for (;;) {
    const held = [first, second].filter((_, i) => 'moment' in Object(lines[i]));
    const next = held[Math.floor(random() * held.length)];
    if (!next) return lines as readonly Answered[];
    next.go();
    lines[next === first ? 0 : 1] = await next.heard();
  }
}
