import { setImmediate as tick } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { TestClock } from '../../lambda/testing.ts';

/** Moves the time by so many seconds, one at a time, and lets everything happen on the way. */
async function pass(clock: TestClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.moveTo(clock.now() + 1_000);
    for (let i = 0; i < 20; i++) await tick();
  }
}

it('a short lease is renewed for as long as its process works, and no longer', async () => {
  const clock = new TestClock(0);
  const work = Promise.withResolvers<string>();
  const slow = agent(
    { name: 'slow', run: (ctx) => ctx.step('work', () => work.promise) },
    { storage: memoryStorage(), clock },
  );
  const run = await slow.start({}, { id: 'r' });
  const working = slow.invoke({ run: 'r' }, { by: 'a', until: 600_000, leaseMs: 9_000 });
  await pass(clock, 30);
  expect(await slow.invoke({ run: 'r' }, { by: 'b', until: 600_000 })).toEqual({ end: 'aside', why: 'taken' });
  await run.until('RUNNING');
  work.resolve('done');
  await pass(clock, 1);
  expect(await working).toMatchObject({ end: 'finished', status: 'SUCCEEDED' });
  expect(clock.nextDeadline).toBeUndefined();
  await expect(run.until('WAITING_FOR_SIGNAL')).rejects.toMatchObject({ code: 'RUN_ENDED' });
});
