import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { CheckpointSummary } from '../../lambda/checkpoints/checkpoint.ts';
import { prune } from '../../lambda/checkpoints/operations/operations.ts';
import { agent, FatalError, RetryableError } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { buildTimeline, type Span } from '../../lambda/operator/timeline.ts';
import { testAgents } from '../../lambda/testing.ts';

const describeSpan = ({ kind, label, from, to }: Pick<Span, 'kind' | 'label' | 'from' | 'to'>) =>
  `${kind} ${label} ${(to.getTime() - from.getTime()) / 1000}`;

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
    expect(spans.map(describeSpan)).toEqual([
      'queued start 0',
      'queued queued 0',
      'failure search 0',
      'step suspended 0',
      'waiting waiting for next attempt of search 300',
      'step search 0',
      'step book 0',
      'waiting waiting for approval book 7200',
      'crash lost to a crash 0',
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
      'queued',
      'search[0]/train, search[1]/flight, search[2]/ferry',
      'sleep nap',
      'succeeded',
    ]);
    expect(spans.find(({ label }) => label === 'sleep nap')).toMatchObject({ kind: 'waiting' });
  });

  it('says what a run waits for: a timer, a signal, or a child run', async () => {
    const billing = agent({ name: 'billing', run: (ctx) => ctx.waitForSignal('paid') });
    const orders = agent({
      name: 'orders',
      async run(ctx) {
        await ctx.sleep('cool off', { hours: 1 });
        await ctx.call(billing, null);
        await ctx.all('both', [
          (branch) => branch.waitForSignal('packed'),
          (branch) => branch.sleep('night', { hours: 8 }),
        ]);
      },
    });
    const world = testAgents(orders, { agents: [billing] });
    const run = await world.start(null, { id: 'order' });
    await world.skip({ hours: 1 });
    await world.skip({ hours: 2 });
    await world.run('order.billing').signal('paid');
    await world.skip({ hours: 8 });
    await run.signal('packed');
    const waits = buildTimeline(await run.checkpoints()).spans.filter(({ kind }) => kind === 'waiting');
    expect(waits.map(describeSpan)).toEqual([
      'waiting sleep cool off 3600',
      'waiting waiting for child run billing 7200',
      'waiting waiting for signal both[0]/packed, timer both[1]/night 28800',
      'waiting waiting for signal both[0]/packed 0',
    ]);
  });

  it('names what a checkpoint without a step records, and calls only an update an update', async () => {
    const notes = agent({
      name: 'notes',
      state: { initial: () => ({ count: 0 }) },
      async run(ctx) {
        await ctx.now();
        await ctx.checkpoint('first');
        await ctx.update((draft) => {
          draft.count += 1;
        });
        await ctx.step('pay', () => 1, { atMostOnce: true });
        await ctx.all('some', [(branch) => branch.step('a', () => 1), (branch) => branch.waitForSignal('never')], {
          minSuccessful: 1,
        });
      },
    });
    const run = await testAgents(notes).start({});
    expect(buildTimeline(await run.checkpoints()).spans.map(({ label }) => label)).toEqual([
      'start',
      'queued',
      'now',
      'checkpoint',
      'update',
      'start of pay',
      'pay',
      'some[0]/a',
      'end of some',
      'succeeded',
    ]);
  });

  it('counts no time after the end of a run, so that a later prune, rewind or retry does not add to its totals', async () => {
    let isClosed = true;
    const parcels = agent({
      name: 'parcels',
      async run(ctx) {
        await ctx.waitForSignal('go');
        await ctx.step('deliver', () => {
          if (isClosed) throw new FatalError('The road is closed.');
        });
      },
    });
    const world = testAgents(parcels);
    const run = await world.start({}, { id: 'parcel' });
    await world.skip({ hours: 1 });
    await run.signal('go');
    const before = buildTimeline(await run.checkpoints()).totals;
    expect(before).toMatchObject({ waiting: 3_600_000, change: 0 });
    await world.skip({ days: 3 });
    isClosed = false;
    await run.retry();
    await world.skip({ days: 4 });
    await run.rewind(3);
    await world.skip({ days: 5 });
    await prune(await world.agent.runtime.contexts.forRun('parcel'), { keepLast: 1 });
    const operator = createOperator(world.agent.runtime);
    const { spans, totals } = await operator.timeline('parcel');
    expect(spans.filter(({ kind }) => kind === 'change').map(describeSpan)).toEqual([
      'change retry 0',
      'change rewind 0',
      'change prune 0',
    ]);
    expect(totals).toEqual(before);
    expect((await operator.timeline('parcel', { limit: 2 })).totals).toEqual(before);
  });

  it('counts the time before a cancel as the wait that it ended', async () => {
    const slow = agent({ name: 'slow', run: (ctx) => ctx.waitForSignal('go') });
    const world = testAgents(slow);
    const run = await world.start({});
    await world.skip({ hours: 1 });
    await run.cancel('Enough.');
    expect(
      buildTimeline(await run.checkpoints())
        .spans.map(describeSpan)
        .slice(-2),
    ).toEqual(['waiting waiting for signal go 3600', 'change cancel 0']);
  });

  it('calls a failure before the first step failed, and a timeout timed out', async () => {
    const strict = agent({
      name: 'strict',
      timeout: { minutes: 5 },
      input: z.object({ to: z.string() }),
      run: (ctx) => ctx.waitForSignal('go'),
    });
    const world = testAgents(strict);
    const operator = createOperator(world.agent.runtime);
    await operator.start({ agent: 'strict', input: { to: 5 }, id: 'wrong' });
    await operator.start({ agent: 'strict', input: { to: 'Lisbon' }, id: 'late' });
    await world.skip({ minutes: 10 });
    const labels = async (run: string) =>
      buildTimeline(await world.run(run).checkpoints()).spans.map(({ kind, label }) => `${kind} ${label}`);
    expect(await labels('wrong')).toEqual(['queued start', 'change failed']);
    expect((await labels('late')).slice(-2)).toEqual(['waiting waiting for signal go', 'change timed out']);
  });

  it('gives each of the steps that ran side by side its own time', async () => {
    let wait = (_: number): Promise<void> => Promise.resolve();
    const trips = agent({
      name: 'trips',
      async run(ctx) {
        await ctx.all('search', [
          async (branch) => {
            await branch.step('train', () => wait(100));
            await branch.step('seat', () => wait(250));
          },
          (branch) => branch.step('flight', () => wait(400)),
        ]);
      },
    });
    const world = testAgents(trips);
    wait = (milliseconds) => world.clock.sleep(milliseconds);
    const run = await world.start({});
    const { spans } = buildTimeline(await run.checkpoints());
    const working = spans.filter(({ label }) => label.startsWith('search'));
    expect(working.map(describeSpan)).toEqual([
      'step search[0]/train 0.1',
      'step search[0]/seat 0.25',
      'step search[1]/flight 0.05',
    ]);
    expect(working.flatMap(({ parts = [] }) => parts.map(describeSpan))).toEqual(['step search[1]/flight 0.4']);
  });

  it('shows the wait for a retry apart from the attempt', async () => {
    let tries = 0;
    const flaky = agent({
      name: 'flaky',
      run: (ctx) =>
        ctx.step('search', () => {
          if (tries++ === 0) throw new RetryableError('busy', { retryAfter: { seconds: 5 } });
        }),
    });
    const run = await testAgents(flaky).start({});
    expect(
      buildTimeline(await run.checkpoints())
        .spans.map(describeSpan)
        .slice(2, 5),
    ).toEqual(['failure search 0', 'waiting waiting for next attempt of search 5', 'step search 0']);
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
    const waiting = buildTimeline([at(0, 1, { status: 'WAITING_FOR_APPROVAL' })], { now: new Date(600_000) });
    expect(waiting.spans.at(-1)).toMatchObject({ kind: 'waiting', to: new Date(600_000) });
    expect(waiting.spans.at(-1)).not.toHaveProperty('checkpoint');
    expect(buildTimeline([at(0, 1, { status: 'SUCCEEDED' })], { now: new Date(600_000) }).spans).toHaveLength(1);
  });

  it('is queued since an event woke the run', () => {
    const woken = { now: new Date(600_000), status: 'READY', updatedAt: new Date(480_000) } as const;
    const { spans } = buildTimeline([at(0, 1, {}), at(1, 2, { status: 'SLEEPING' })], woken);
    expect(spans.slice(-2).map(describeSpan)).toEqual(['waiting sleeping 420', 'queued queued 120']);
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
    const changes = spans.filter(({ kind }) => kind === 'change');
    expect(changes.map(({ label }) => label)).toEqual(kinds);
  });
});
