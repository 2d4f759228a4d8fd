import { describe, expect, it } from 'vitest';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import {
  describeOnEachStorage,
  headIn,
  headOf,
  interceptCommits,
  otherProcessOptions,
  withEventBefore,
} from './storages.ts';

const doubled: number[] = [];
const doubling = agent({
  name: 'doubling',
  run: (ctx, input: { n: number }) =>
    ctx.step('double', () => {
      doubled.push(input.n);
      return input.n * 2;
    }),
});

const waiting = agent({ name: 'waiting', run: (ctx) => ctx.waitForSignal('go') });

const failing = agent({
  name: 'failing',
  run: (ctx) =>
    ctx.step(
      'try',
      () => {
        throw new TypeError('no such order');
      },
      { retry: { maxAttempts: 1 } },
    ),
});

describe('a child run', () => {
  it('returns its result to the parent, which is suspended meanwhile', async () => {
    const parent = agent({
      name: 'parent',
      async run(ctx) {
        const text = await ctx.call(waiting, {});
        return `child said ${text}`;
      },
    });
    const world = testAgents(parent, { agents: [waiting] });
    const run = await world.start({}, { id: 'r', owner: 'ann' });
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
    expect((await headOf(world.agent, 'r')).work?.lease).toBeUndefined();
    await world.run('r.waiting').signal('go', 'hello');
    expect(await run.result()).toBe('child said hello');
    expect(world.invocations).toHaveLength(4);
  });

  it('records its parent, and has the same owner', async () => {
    const parent = agent({ name: 'parent', run: (ctx) => ctx.call('doubling', { n: 4 }) });
    const world = testAgents(parent, { agents: [doubling] });
    const run = await world.start({}, { id: 'r', owner: 'ann' });
    expect(await run.result()).toBe(8);
    const [first] = await world.run('r.doubling').checkpoints();
    expect(first?.parent).toEqual({ run: 'r', version: 2 });
    expect(await headOf(world.agent, 'r.doubling')).toMatchObject({ agent: 'doubling', owner: 'ann' });
  });

  it('starts in the tenant of its parent when the agent is invoked for another tenant', async () => {
    const parent = agent({ name: 'parent', run: (ctx) => ctx.call('doubling', { n: 4 }) });
    const world = testAgents(parent, { agents: [doubling] });
    const acme = parent.with({ ...otherProcessOptions(world), tenant: 'acme' });
    await acme.start({}, { id: 'r' });
    await world.agent.invoke({ run: 'r', tenant: 'acme' }, { by: 'a', until: world.clock.now() + 60_000 });
    expect(await acme.run('r.doubling').status()).toBe('READY');
    await expect(world.run('r.doubling').status()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('fails its call in the parent with an error that has the cause and can be caught', async () => {
    const parent = agent({ name: 'parent', run: (ctx) => ctx.call(failing, {}) });
    const world = testAgents(parent, { agents: [failing] });
    const run = await world.start({}, { id: 'r' });
    const failure = await run.result().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'RUN_FAILED',
      cause: { code: 'RUN_FAILED', message: expect.stringContaining('no such order'), cause: { name: 'TypeError' } },
    });
    const careful = agent({
      name: 'careful',
      run: (ctx) => ctx.call(failing, {}).catch((error: Error) => `caught: ${error.message}`),
    });
    const other = await testAgents(careful, { agents: [failing] }).start({}, { id: 'r' });
    expect(await other.result()).toContain('caught: Run "r.failing" of agent "failing" failed');
  });

  it('returns its result to a retried parent when it was retried first', async () => {
    let broken = true;
    const fragile = agent({
      name: 'fragile',
      retry: { maxAttempts: 1 },
      run: (ctx) =>
        ctx.step('try', () => {
          if (broken) throw new Error('broken');
          return 'fixed';
        }),
    });
    const parent = agent({ name: 'parent', run: (ctx) => ctx.call(fragile, {}) });
    const world = testAgents(parent, { agents: [fragile] });
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('FAILED');
    broken = false;
    await world.run('r.fragile').retry();
    expect(await world.run('r.fragile').status()).toBe('SUCCEEDED');
    await run.retry();
    expect(await run.result()).toBe('fixed');
  });

  it('wakes its parent even if it ends before the parent suspends', async () => {
    const parent = agent({ name: 'parent', run: (ctx) => ctx.call(doubling, { n: 21 }) });
    const storage = memoryStorage();
    const watched = withEventBefore(storage, (writes) => headIn(writes)?.status === 'WAITING_FOR_SIGNAL');
    const world = testAgents(parent, { agents: [doubling], storage: watched });
    const child = doubling.with({ storage, clock: world.clock, log: () => {} });
    watched.hook.event = () => child.invoke({ run: 'r.doubling' }, { by: 'quick', until: world.clock.now() + 60_000 });
    const run = await world.start({}, { id: 'r' });
    expect(watched.hook.event).toBeUndefined();
    expect(await run.result()).toBe(42);
  });

  it('is started once, even when the parent crashes between starting it and recording that', async () => {
    doubled.length = 0;
    let failures = 3;
    const storage = interceptCommits(memoryStorage(), async (writes, commit) => {
      if (headIn(writes)?.status === 'WAITING_FOR_SIGNAL' && failures-- > 0)
        throw new WaitstateError('STORAGE_UNAVAILABLE', 'The storage is away.');
      await commit();
    });
    const parent = agent({ name: 'parent', run: (ctx) => ctx.call(doubling, { n: 3 }) });
    const world = testAgents(parent, { agents: [doubling], storage });
    const run = await world.start({}, { id: 'r' });
    expect(await run.result()).toBe(6);
    expect(world.invocations.filter(({ end }) => end === 'failed')).toHaveLength(3);
    expect(doubled).toEqual([3]);
  });

  it('can have children, which can have children too', async () => {
    const depth: string[] = [];
    const inner = agent({
      name: 'inner',
      run: (ctx, input: { n: number }) => {
        depth.push(ctx.run);
        return ctx.call(doubling, input);
      },
    });
    const middle = agent({
      name: 'middle',
      run: async (ctx, input: { n: number }) => (await ctx.call(inner, input)) + 1,
    });
    const outer = agent({ name: 'outer', run: async (ctx) => (await ctx.call(middle, { n: 5 })) * 100 });
    const world = testAgents(outer, { agents: [middle, inner, doubling], deliverTwice: true });
    const run = await world.start({}, { id: 'r' });
    expect(await run.result()).toBe(1100);
    expect(new Set(depth)).toEqual(new Set(['r.middle.inner']));
    expect(await world.run('r.middle.inner.doubling').status()).toBe('SUCCEEDED');
  });

  it('can run in parallel with others, or after another run of the same agent', async () => {
    const parent = agent({
      name: 'parent',
      async run(ctx) {
        const many = await ctx.map('many', [1, 2, 3, 4, 5], (branch, n) => branch.call(doubling, { n }));
        const first = await ctx.call(doubling, { n: 10 });
        const second = await ctx.call(doubling, { n: 20 });
        return [...many, first, second];
      },
    });
    const world = testAgents(parent, { agents: [doubling] });
    expect(await (await world.start({}, { id: 'r' })).result()).toEqual([2, 4, 6, 8, 10, 20, 40]);
  });

  it('can have a custom id, unless a run of another agent has it', async () => {
    const parent = agent({ name: 'parent', run: (ctx, input: { id: string }) => ctx.call(doubling, { n: 1 }, input) });
    const world = testAgents(parent, { agents: [doubling] });
    expect(await (await world.start({ id: 'mine' }, { id: 'r' })).result()).toBe(2);
    expect((await headOf(world.agent, 'mine')).work?.replyTo).toBe('r');
    const taken = await world.start({ id: 'r' }, { id: 's' });
    await expect(taken.result()).rejects.toMatchObject({ cause: { code: 'RUN_EXISTS' } });
  });

  it('cannot be a running run that the parent did not start: it would not wake the parent when it ends', async () => {
    const parent = agent({ name: 'parent', run: (ctx) => ctx.call(waiting, {}, { id: 'shared' }) });
    const world = testAgents(parent, { agents: [waiting] });
    const first = await world.start({}, { id: 'one' });
    const second = await world.start({}, { id: 'two' });
    await expect(second.result()).rejects.toMatchObject({ cause: { code: 'RUN_EXISTS' } });
    await world.run('shared').signal('go', 'done');
    expect(await first.result()).toBe('done');
  });

  it('fails its call in the parent when it was deleted while the parent waits', async () => {
    const parent = agent({
      name: 'parent',
      run: (ctx) =>
        ctx.all('both', [
          (branch) => branch.call(waiting, {}).catch((error: Error) => error.message),
          (branch) => branch.waitForSignal('look'),
        ]),
    });
    const world = testAgents(parent, { agents: [waiting] });
    const run = await world.start({}, { id: 'r' });
    await world.run('r.both[0]/waiting').cancel();
    await world.agent.store.delete('r.both[0]/waiting');
    await run.signal('look');
    expect(await run.status()).toBe('SUCCEEDED');
  });
});

describeOnEachStorage('child runs', (open) => {
  it('end, fail and resume in other processes, and wake their parents once', async () => {
    const parent = agent({
      name: 'parent',
      async run(ctx) {
        const sums = await ctx.map('many', [1, 2, 3], (branch, n) => branch.call(doubling, { n }));
        const failed = await ctx.call(failing, {}).catch((error: Error) => String(error.cause));
        const result = await ctx.call(waiting, {});
        return { sums, failed, result };
      },
    });
    const world = testAgents(parent, {
      agents: [doubling, failing, waiting],
      storage: await open(),
      deliverTwice: true,
    });
    world.crash({ recorded: 'double', times: 2 });
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
    await world.run('r.waiting').signal('go', 'yes');
    expect(await run.result()).toEqual({ sums: [2, 4, 6], failed: 'TypeError: no such order', result: 'yes' });
  });
});
