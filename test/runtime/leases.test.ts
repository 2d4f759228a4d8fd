import { setImmediate as tick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { TestClock } from '../../lambda/testing.ts';
import { gate, headOf } from './storages.ts';

/** Advances the clock second by second, and lets pending tasks run after each one. */
async function pass(clock: TestClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.moveTo(clock.now() + 1_000);
    for (let i = 0; i < 20; i++) await tick();
  }
}

it('a short lease is renewed only as long as its process works', async () => {
  const clock = new TestClock(0);
  const work = Promise.withResolvers<string>();
  const slow = agent(
    { name: 'slow', run: (ctx) => ctx.step('work', () => work.promise) },
    { storage: memoryStorage(), clock },
  );
  const run = await slow.start({}, { id: 'r' });
  const working = slow.invoke({ run: 'r' }, { by: 'a', until: 600_000, lease: { seconds: 9 } });
  await pass(clock, 30);
  expect(await slow.invoke({ run: 'r' }, { by: 'b', until: 600_000 })).toEqual({ end: 'skipped', reason: 'taken' });
  await run.until('RUNNING');
  work.resolve('done');
  await pass(clock, 1);
  expect(await working).toMatchObject({ end: 'finished', status: 'SUCCEEDED' });
  expect(clock.nextDeadline).toBeUndefined();
  await expect(run.until('WAITING_FOR_SIGNAL')).rejects.toMatchObject({ code: 'RUN_ENDED' });
});

it.each([
  ['fixed', undefined],
  ['renewed', { seconds: 9 }],
] as const)(
  'a run that is ENDING is not swept before its %s lease ends, even when its deadline has passed',
  async (_, lease) => {
    const clock = new TestClock(0);
    const undone = gate();
    const ending = agent(
      {
        name: 'ending',
        timeout: { seconds: 10 },
        async run(ctx) {
          await ctx.step('book', () => 1, { undo: () => undone.opened });
          throw new Error('no');
        },
      },
      { storage: memoryStorage(), clock },
    );
    await ending.start({}, { id: 'r' });
    const working = ending.invoke({ run: 'r' }, { by: 'a', until: 600_000, ...(lease && { lease }) });
    await pass(clock, 20);
    await sweepDue({ runtime: ending.runtime });
    await pass(clock, 4);
    const { status, work } = await headOf(ending, 'r');
    expect(status).toBe('ENDING');
    expect(work?.dueAt).toBe(work?.lease?.until);
    undone.open();
    await pass(clock, 1);
    expect(await working).toMatchObject({ end: 'finished', status: 'FAILED' });
  },
);
