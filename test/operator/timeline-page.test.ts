import { describe, expect, it } from 'vitest';
import { agent, RetryableError } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import type { TimelineTotals } from '../../lambda/operator/timeline.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import { repeats } from '../deep.ts';
import { countingStorage } from '../runtime/scale/counted.ts';

const LONG = repeats(400, 5000);
let wait = (_: number): Promise<void> => Promise.resolve();

const pages = agent({
  name: 'pages',
  async run(ctx, count: number) {
    for (let i = 0; i < count; i++) await ctx.step(`page ${i}`, () => wait(10));
    await ctx.waitForSignal('go');
    await ctx.step('last', () => wait(50));
  },
});

describe('a part of a timeline', () => {
  it('takes the same requests and records for a long run as for a short one', async () => {
    const storage = countingStorage(memoryStorage());
    const world = testAgents(pages, { storage });
    wait = () => Promise.resolve();
    await world.start(60, { id: 'short' });
    await world.start(LONG, { id: 'long' });
    const operator = createOperator(world.agent.runtime);
    const cost = async (run: string) => {
      storage.since();
      const { spans, last } = await operator.timeline(run);
      const { reads, ranges, recordsRead, bytesRead, opens } = storage.since();
      expect(spans).toHaveLength(51);
      return { last, requests: reads + ranges + opens, recordsRead, bytesRead };
    };
    const [short, long] = [await cost('short'), await cost('long')];
    expect([short.last, long.last]).toEqual([63, LONG + 3]);
    expect(long.requests).toBe(short.requests);
    expect(long.requests).toBeLessThanOrEqual(2);
    expect(long.recordsRead).toBe(short.recordsRead);
    // A snapshot among the checkpoints may be larger; the others are the same.
    expect(long.bytesRead).toBeLessThan(2 * short.bytesRead + 40_000);
  }, 300_000);

  it('has the totals of the whole run, which its head keeps, and goes back to the start', async () => {
    let tries = 0;
    const trips = agent({
      name: 'trips',
      async run(ctx) {
        for (let i = 0; i < 12; i++) await ctx.step(`page ${i}`, () => wait(100));
        await ctx.step('search', () => {
          if (tries++ === 0) throw new RetryableError('busy', { retryAfter: { minutes: 5 } });
          return wait(200);
        });
        await ctx.approval('book', { title: 'Book?', approvers: ['user:ann'] });
        await ctx.step('pay', () => wait(300));
        await ctx.waitForSignal('go');
      },
    });
    const world = testAgents(trips);
    wait = (milliseconds) => world.clock.sleep(milliseconds);
    world.crash({ before: 'pay' });
    const run = await world.start({}, { id: 'trip' });
    await world.skip({ minutes: 5 });
    await world.skip({ hours: 2 });
    await run.approve('book');
    await world.skip({ minutes: 1 });
    const operator = createOperator(world.agent.runtime);
    const whole = await operator.timeline('trip', { limit: 1000 });
    expect(whole).toMatchObject({ isWhole: true, first: 1, crashes: 1, failures: 1 });
    expect(whole).not.toHaveProperty('next');
    const withFailures = ({ failure, step, ...others }: TimelineTotals) => ({ ...others, step: step + failure });
    const versions: (number | undefined)[] = [];
    for (let page = await operator.timeline('trip', { limit: 7 }); ; ) {
      expect(withFailures(page.totals)).toEqual(withFailures(whole.totals));
      expect(page).toMatchObject({ isWhole: true, crashes: 1 });
      versions.unshift(...page.spans.map(({ checkpoint }) => checkpoint?.version));
      if (page.next === undefined) break;
      page = await operator.timeline('trip', { limit: 7, to: page.next });
    }
    expect(versions).toEqual(whole.spans.map(({ checkpoint }) => checkpoint?.version));
    await run.signal('go', 1);
    const { totals } = await operator.timeline('trip', { limit: 1000 });
    await world.skip({ days: 9 });
    expect(withFailures((await operator.timeline('trip', { limit: 3 })).totals)).toEqual(withFailures(totals));
  });

  it('finds steps, crashes and failures by text, a thousand checkpoints at a time', async () => {
    const world = testAgents(pages);
    wait = () => Promise.resolve();
    world.crash({ before: 'page 30' });
    await world.start(70, { id: 'run' });
    const operator = createOperator(world.agent.runtime);
    const find = async (text: string, limit = 50) => {
      const { spans, next } = await operator.timeline('run', { find: text, limit });
      return { labels: spans.map(({ label }) => label), next };
    };
    expect(await find('PAGE 3')).toEqual({
      labels: ['page 3', ...Array.from({ length: 10 }, (_, i) => `page 3${i}`)],
      next: undefined,
    });
    expect(await find('crash')).toEqual({ labels: ['lost to a crash'], next: undefined });
    expect((await find('waiting')).labels).toEqual(['waiting for signal go']);
    expect((await find('5')).labels).toContain('page 2');
    expect((await find('no such step')).labels).toEqual([]);
    const two = await find('page 3', 2);
    expect(two.labels).toEqual(['page 38', 'page 39']);
    const older = await operator.timeline('run', { find: 'page 3', limit: 2, to: two.next ?? 0 });
    expect(older.spans.map(({ label }) => label)).toEqual(['page 36', 'page 37']);
  });

  it('refuses a limit that is too large, and a run that does not exist', async () => {
    const operator = createOperator(testAgents(pages).agent.runtime);
    await expect(operator.timeline('none')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(operator.timeline('none', { limit: 1001 })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});
