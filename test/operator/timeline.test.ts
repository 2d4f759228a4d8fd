import { describe, expect, it } from 'vitest';
import type { CheckpointSummary } from '../../lambda/checkpoints/checkpoint.ts';
import { agent, FatalError, RetryableError } from '../../lambda/index.ts';
import { buildTimeline } from '../../lambda/operator/timeline.ts';
import { testAgents } from '../../lambda/testing.ts';

const seconds = (from: Date, to: Date) => (to.getTime() - from.getTime()) / 1000;

describe('a timeline', () => {
  it('distinguishes steps, failed attempts, waits, crashes and the end', async () => {
    let tries = 0;
    const stories = agent({
      name: 'stories',
      async run(ctx) {
        await ctx.step('search', () => {
          if (tries++ === 0) throw new RetryableError('busy', { retryAfter: { minutes: 5 } });
        });
        await ctx.approval('book', { title: 'Book?', approvers: ['user:ann'] });
        await ctx.step('pay', () => 1, { undo: () => {} });
        throw new FatalError('No seat.');
      },
    });
    const world = testAgents(stories);
    world.crash({ after: 'pay' });
    const run = await world.start({});
    await world.skip({ minutes: 5 });
    await world.skip({ hours: 2 });
    await run.approve('book');
    const { spans, totals, crashes, failures } = buildTimeline(await run.checkpoints());
    expect(spans.map(({ kind, label, from, to }) => `${kind} ${label} ${seconds(from, to)}`)).toEqual([
      'queued start 0',
      'queued ready 0',
      'failure search 0',
      'step sleeping 0',
      'waiting sleeping 300',
      'step search 0',
      'step book 0',
      'waiting waiting for approval 7200',
      'crash crash 0',
      'step pay 0',
      'step ending 0',
      'step undo pay 0',
      'step failed 0',
    ]);
    expect([totals.waiting, crashes, failures]).toEqual([7_500_000, 1, 1]);
  });

  it('names sleeps, and all steps that share a checkpoint', async () => {
    const trips = agent({
      name: 'trips',
      async run(ctx) {
        await ctx.all('search', [
          (branch) => branch.step('train', () => 1),
          (branch) => branch.step('flight', () => 2),
          (branch) => branch.step('ferry', () => 3),
        ]);
        await ctx.sleep('nap', { seconds: 2 });
      },
    });
    const run = await testAgents(trips).start({});
    const { spans } = buildTimeline(await run.checkpoints());
    expect(spans.map(({ label }) => label)).toEqual([
      'start',
      'ready',
      'search[0]/train, search[1]/flight, search[2]/ferry',
      'sleep nap',
      'succeeded',
    ]);
  });

  it('counts the steps that do not fit into the label', async () => {
    const many = agent({
      name: 'many',
      run: (ctx) =>
        ctx.map(
          'find',
          Array.from({ length: 40 }, (_, i) => i),
          (branch) => branch.step('page', () => 1),
        ),
    });
    const run = await testAgents(many).start({});
    const labels = buildTimeline(await run.checkpoints()).spans.map(({ label }) => label);
    const [found = ''] = labels.filter((label) => label.startsWith('find'));
    expect(found).toMatch(/^find\[0\]\/page, .*\[\d+\]\/page and \d+ more$/);
    expect(found.length).toBeLessThanOrEqual(256);
  });

  const at = (minute: number, version: number, fields: Partial<CheckpointSummary>): CheckpointSummary => ({
    ...{ run: 'r', version, kind: 'save', status: 'RUNNING', stepNumber: 0, labels: {}, writer: 'w', writeId: 'i' },
    ...{ hash: 'h', pruned: false, bytes: 1, savedAt: new Date(minute * 60_000), ...fields },
  });

  it('extends to the present until the run has ended', () => {
    const waiting = buildTimeline([at(0, 1, { status: 'WAITING_FOR_APPROVAL' })], new Date(600_000));
    expect(waiting.spans.at(-1)).toMatchObject({ kind: 'waiting', to: new Date(600_000) });
    expect(waiting.spans.at(-1)).not.toHaveProperty('checkpoint');
    expect(buildTimeline([at(0, 1, { status: 'SUCCEEDED' })], new Date(600_000)).spans).toHaveLength(1);
  });

  it('begins after the first checkpoint if it covers a part of a run', () => {
    const { spans } = buildTimeline([at(1, 7, {}), at(2, 8, { step: 'next' })]);
    expect(spans).toMatchObject([{ kind: 'step', label: 'next', checkpoint: { version: 8 } }]);
  });

  it('has no negative spans if the clocks of two writers differ', () => {
    const { spans, totals } = buildTimeline([at(5, 1, {}), at(3, 2, { kind: 'claim' }), at(4, 3, { step: 'a' })]);
    expect(spans.every(({ from, to }) => from <= to)).toBe(true);
    expect(totals.crash).toBe(0);
  });

  it('names changes from outside', () => {
    const kinds = ['rewind', 'undo', 'cancel', 'retry', 'prune'] as const;
    const { spans } = buildTimeline([at(0, 1, {}), ...kinds.map((kind, i) => at(i, i + 2, { kind }))]);
    expect(spans.slice(1).map(({ kind, label }) => [kind, label])).toEqual(kinds.map((kind) => ['change', kind]));
  });
});
