import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { localKeys } from '../../lambda/checkpoints.ts';
import { oneLine } from '../../lambda/core/one-line.ts';
import { agent, FatalError } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { describeRun } from '../../lambda/operator/describe-run.ts';
import { explainReady } from '../../lambda/operator/explain-ready.ts';
import { pauseAgent } from '../../lambda/runtime/control/pause-agent.ts';
import type { Runtime } from '../../lambda/runtime/runtime.ts';
import { itemBytes, toItem } from '../../lambda/storage/dynamodb/items.ts';
import { HEAD_KEY } from '../../lambda/storage/keys.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';

const purchases = agent({
  name: 'purchases',
  async run(ctx, { item, fails }: { item: string; fails?: boolean }) {
    const { approved, comment } = await ctx.approval('buy', { title: `Buy ${item}?`, approvers: ['user:ann'] });
    if (fails)
      await ctx.step('pay', () => {
        throw new FatalError('The card was refused.', { cause: new Error('HTTP 402') });
      });
    return { bought: approved, reason: comment };
  },
});

const lineOf = async ({ agent: { runtime } }: { readonly agent: { readonly runtime: Runtime } }, run: string) => {
  const { runs } = await createOperator(runtime).runs({ id: run });
  return runs[0] && describeRun(runs[0]);
};

describe('a list of runs', () => {
  it('says what came of each run, without reading more than the list', async () => {
    const storage = memoryStorage();
    const world = testAgents(purchases, { storage });
    for (const [id, fails] of [
      ['yes', false],
      ['no', false],
      ['broken', true],
      ['stopped', false],
      ['open', false],
    ] as const)
      await world.start({ item: 'a saw', fails }, { id });
    await world.run('yes').approve('buy');
    await world.run('no').reject('buy', { comment: 'Too dark.' });
    await world.run('broken').approve('buy');
    await world.run('stopped').cancel('We rent one.');
    expect(await lineOf(world, 'yes')).toBe('approved by user:ann · bought: true');
    expect(await lineOf(world, 'no')).toBe('rejected by user:ann · bought: false, reason: Too dark.');
    expect(await lineOf(world, 'broken')).toBe('STEP_FAILED · at pay · The card was refused.');
    expect(await lineOf(world, 'stopped')).toBe('We rent one.');
    expect(await lineOf(world, 'open')).toBe('approval buy');
  });

  it('says who answered a question, or declined it', async () => {
    const asks = agent({
      name: 'asks',
      run: async (ctx) => (await ctx.ask('seat', { title: 'Which?', approvers: ['user:ann'], text: true })).answer,
    });
    const world = testAgents(asks);
    for (const id of ['yes', 'no']) await world.start(undefined, { id });
    await world.run('yes').answer('seat', '12A');
    await world.run('no').reject('seat');
    expect(await lineOf(world, 'yes')).toBe('answered by user:ann · 12A');
    expect(await lineOf(world, 'no')).toBe('declined by user:ann');
  });

  it('says that a decision did not hold, or that an answer was not accepted', async () => {
    const approvers = ['user:ann'] as const;
    let price = 0;
    const checks = agent({
      name: 'checks',
      run: (ctx) =>
        ctx.approval('buy', {
          title: 'Buy?',
          approvers,
          facts: { price },
          recheck: () => ({ price: ++price }),
          maxRequests: 1,
        }),
    });
    const even = z.object({ count: z.int().refine((count) => count % 2 === 0, 'must be even') });
    const asks = agent({
      name: 'asks',
      run: (ctx) => ctx.ask('count', { title: 'How many?', approvers, answer: even, maxRequests: 1 }),
    });
    const [bought, counted] = [testAgents(checks), testAgents(asks)];
    await (await bought.start(undefined, { id: 'run' })).approve('buy');
    await (await counted.start(undefined, { id: 'run' })).answer('count', { count: 3 });
    expect(await lineOf(bought, 'run')).toMatch(/^approved by user:ann, then changed again · /);
    expect(await lineOf(counted, 'run')).toMatch(/^answered by user:ann, but not accepted · /);
  });

  it('forgets the outcome when a run is retried', async () => {
    const world = testAgents(purchases);
    const run = await world.start({ item: 'a saw', fails: true }, { id: 'run' });
    await run.approve('buy');
    const operator = createOperator(world.agent.runtime);
    expect((await operator.run('run')).outcome).toMatchObject({ text: 'The card was refused.' });
    await operator.retry('run');
    expect((await operator.run('run')).outcome).toBeUndefined();
  });

  it('has no content of an encrypted run, but says who decided', async () => {
    const keys = localKeys({ current: 'k', keys: { k: new Uint8Array(32).fill(7) } });
    const storage = memoryStorage();
    const world = testAgents(purchases, { storage, keys });
    const run = await world.start({ item: 'a saw' }, { id: 'run' });
    await run.reject('buy', { comment: 'SECRET' });
    const [summary] = (await createOperator(world.agent.runtime).runs()).runs;
    expect(summary?.outcome).toEqual({ decision: ['REJECTED', 'user:ann'] });
    const [head] = await storage.records.read('default/run', [HEAD_KEY]);
    expect(head?.meta).not.toContain('SECRET');
  });

  it.each(['r', 'r'.repeat(60), 'r'.repeat(180)])('keeps the head of run %s within its write units', async (id) => {
    const sizes = await Promise.all(
      ['', 'ü'.repeat(5000)].map(async (text) => {
        const storage = memoryStorage();
        const world = testAgents(agent({ name: 'texts', run: () => text || undefined }), { storage });
        await world.start(undefined, { id, owner: 'o'.repeat(40), tags: ['t'.repeat(40)] });
        const [head] = await storage.records.read(`default/${id}`, [HEAD_KEY]);
        return head ? Math.ceil(itemBytes(toItem(head)) / 1024) : 0;
      }),
    );
    expect(sizes[1]).toBe(sizes[0]);
  });
});

describe('a value in one line', () => {
  it.each([
    [{ booked: false, why: 'too\nexpensive' }, 'booked: false, why: too expensive'],
    ['plain', 'plain'],
    [undefined, ''],
    [null, 'null'],
    [[1, { a: 2 }], '[1, { a: 2 }]'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [new Map([[1, 2]]), '1 items'],
    [{ a: { b: { c: { d: 1 } } } }, 'a: { b: { c: … } }'],
  ])('shows %j for people', (value, line) => {
    expect(oneLine(value, 80)).toBe(line);
  });

  it('is cut at whole characters, and never reads all of a large value', () => {
    expect(oneLine('😀'.repeat(50), 5)).toBe('😀😀😀😀…');
    let reads = 0;
    const large = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, undefined]));
    for (const key of Object.keys(large))
      Object.defineProperty(large, key, { enumerable: true, get: () => `value ${reads++}` });
    expect(oneLine(large, 40)).toHaveLength(40);
    expect(reads).toBeLessThan(10);
  });
});

describe('a READY run that nobody takes', () => {
  it('says why, and since when', async () => {
    const world = testAgents(purchases);
    const operator = createOperator(world.agent.runtime);
    await operator.start({ agent: 'nobody', id: 'lost' });
    const since = new Date(world.clock.now());
    const reasonOf = async (agents: readonly string[] = []) => explainReady(await operator.run('lost'), agents);
    expect(await reasonOf()).toMatchObject({ reason: 'queued', since });
    expect(await reasonOf(['purchases'])).toMatchObject({
      reason: 'unknown agent',
      since,
      text: 'No agent "nobody" is known here. The run starts when one is deployed.',
    });
    await world.skip({ minutes: 10 });
    expect(await reasonOf(['nobody'])).toMatchObject({ reason: 'not claimed', since });
    await pauseAgent(await world.agent.runtime.contexts.forTenant(), 'nobody');
    expect(await reasonOf()).toMatchObject({ reason: 'paused', text: expect.stringContaining('"nobody" is paused') });
    const parked = { ...(await operator.run('lost')), isPaused: false, parkedReason: 'The schema is too new.' };
    expect(explainReady(parked)).toMatchObject({
      reason: 'parked',
      text: expect.stringContaining('The schema is too new.'),
    });
    expect(explainReady({ ...parked, status: 'RUNNING' })).toBeUndefined();
  });
});

describe('the error of a run', () => {
  it('has its step and its causes', async () => {
    const world = testAgents(purchases);
    const run = await world.start({ item: 'a saw', fails: true }, { id: 'run' });
    await run.approve('buy');
    expect((await createOperator(world.agent.runtime).run('run')).error).toMatchObject({
      message: 'The card was refused.',
      failedOperations: ['pay'],
      causes: [{ name: 'Error', message: 'HTTP 402' }],
    });
  });
});
