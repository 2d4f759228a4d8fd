import { describe, expect, it } from 'vitest';
import { type AgentContext, agent } from '../../lambda/index.ts';
import { testAgents } from '../../lambda/testing.ts';

/** An agent that pays, then ships. `did` lists the calls, each with the idempotency key that it got. */
function shop() {
  const did: string[] = [];
  const keys = new Set<string>();
  const shopping = agent({
    name: 'shop',
    async run(ctx: AgentContext) {
      for (const name of ['pay', 'ship'])
        await ctx.step(name, ({ idempotencyKey }) => {
          did.push(name);
          keys.add(idempotencyKey);
        });
      return did.length;
    },
  });
  return { shopping, did, keys };
}

const ends = (world: { readonly invocations: readonly { readonly end: string }[] }) =>
  world.invocations.map(({ end }) => end);

describe('world.crash', () => {
  it.each([
    ['before', ['pay', 'ship']],
    ['after', ['pay', 'pay', 'ship']],
    ['recorded', ['pay', 'ship']],
  ] as const)('ends the process %s a step, and the run is invoked again', async (phase, expected) => {
    const { shopping, did, keys } = shop();
    const world = testAgents(shopping);
    world.crash({ [phase]: 'pay' });
    const run = await world.start({});
    expect(await run.status()).toBe('SUCCEEDED');
    expect(did).toEqual(expected);
    expect(keys.size).toBe(2);
    expect(ends(world)).toEqual(['failed', 'finished']);
  });

  it('stops every branch of the process', async () => {
    const did: string[] = [];
    const world = testAgents(
      agent({
        name: 'branching',
        async run(ctx) {
          await ctx.all('both', [
            (branch) => branch.step('a', () => {}),
            async (branch) => {
              await world.clock.sleep(60_000);
              await branch.step('b', () => void did.push('b'));
            },
          ]);
        },
      }),
    );
    world.crash({ after: 'a' });
    const before = world.clock.now();
    const run = await world.start({});
    expect(await run.status()).toBe('SUCCEEDED');
    // The crashed process does not wake up after its sleep.
    expect(did).toEqual(['b']);
    expect(world.clock.now() - before).toBe(60_000);
  });

  it.each([{}, { before: 'a', after: 'a' }, { during: 'a' }, { after: 1 }, { after: 'a', times: 0 }])(
    'refuses %j',
    (fault) => {
      const world = testAgents(shop().shopping);
      expect(() => world.crash(fault as never)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
    },
  );
});

describe('world.duplicate', () => {
  it('makes the next delivery twice, and the second invocation does not get the run', async () => {
    const { shopping, did } = shop();
    const world = testAgents(shopping);
    world.duplicate();
    await world.start({});
    expect(did).toEqual(['pay', 'ship']);
    expect(world.invocations).toEqual([
      { end: 'skipped', reason: 'taken' },
      { end: 'finished', status: 'SUCCEEDED' },
    ]);
    await world.start({});
    expect(ends(world)).toEqual(['skipped', 'finished', 'finished']);
  });

  it('makes the next two deliveries twice with `times: 2`', async () => {
    const world = testAgents(agent({ name: 'sleeper', run: (ctx) => ctx.waitForSignal('go') }));
    world.duplicate({ times: 2 });
    for (let i = 0; i < 3; i++) await world.start({});
    expect(world.invocations).toHaveLength(5);
    expect(() => world.duplicate({ times: 1.5 })).toThrow('whole number');
  });
});

describe('world.stall', () => {
  it.each(['before', 'after', 'recorded'] as const)(
    'stalls a process %s a step until another one took over; its next write is fenced',
    async (phase) => {
      const { shopping, did, keys } = shop();
      const world = testAgents(shopping, { functionTimeout: { minutes: 1 } });
      const before = world.clock.now();
      world.stall({ [phase]: 'pay' });
      const run = await world.start({}, { id: 'r' });
      expect(ends(world)).toEqual(['finished', 'fenced']);
      expect(world.clock.now() - before).toBe(62_000);
      // The stalled process calls the function that comes next again. Its result is lost, and its key is the same.
      expect(did).toEqual(STALLED[phase]);
      expect(keys.size).toBe(2);
      const kinds = (await run.checkpoints()).map(({ kind, step }) => step ?? kind);
      expect(kinds).toEqual(phase === 'recorded' ? RECORDED_FIRST : RECORDED_SECOND);
      expect(await run.status()).toBe('SUCCEEDED');
    },
  );

  const STALLED = {
    before: ['pay', 'ship', 'pay'],
    after: ['pay', 'pay', 'ship'],
    recorded: ['pay', 'ship', 'ship'],
  };
  const RECORDED_FIRST = ['save', 'claim', 'pay', 'claim', 'ship', 'save'];
  const RECORDED_SECOND = ['save', 'claim', 'claim', 'pay', 'ship', 'save'];

  it('cannot decide for a run that waits in the meantime', async () => {
    const world = testAgents(
      agent({
        name: 'asking',
        async run(ctx) {
          const draft = await ctx.step('draft', () => 'draft');
          const { approved } = await ctx.approval('send', { title: draft, approvers: ['user:ann'] });
          return approved ? 'sent' : 'kept';
        },
      }),
    );
    world.stall({ after: 'draft' });
    const run = await world.start({});
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    expect(ends(world)).toEqual(['suspended', 'fenced']);
    expect(await run.approvals()).toHaveLength(1);
    await run.approve('send');
    expect(await run.result()).toBe('sent');
  });
});

describe('world.slowStorage', () => {
  it('makes each request of an agent take its time by the clock, until it is fast again', async () => {
    const { shopping } = shop();
    const world = testAgents(shopping);
    world.slowStorage({ seconds: 2 });
    const before = world.clock.now();
    await world.start({});
    const tookMs = world.clock.now() - before;
    expect(tookMs).toBeGreaterThanOrEqual(8_000);
    expect(tookMs % 2_000).toBe(0);
    world.slowStorage({ seconds: 0 });
    await world.start({});
    expect(world.clock.now() - before).toBe(tookMs);
  });

  it('makes invocations yield before their function is stopped', async () => {
    const did: string[] = [];
    const long = agent({
      name: 'long',
      async run(ctx) {
        for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await ctx.step(name, () => void did.push(name));
      },
    });
    const world = testAgents(long, { functionTimeout: { seconds: 40 } });
    world.slowStorage({ seconds: 4 });
    const run = await world.start({});
    expect(await run.status()).toBe('SUCCEEDED');
    expect(did).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(ends(world)).toEqual(['suspended', 'finished']);
  });

  it('stops a function that cannot even claim its run, and gives up', async () => {
    const { shopping, did } = shop();
    const world = testAgents(shopping, { functionTimeout: { seconds: 10 } });
    world.slowStorage({ seconds: 20 });
    await expect(world.start({})).rejects.toThrow('was invoked 3 times, and each invocation failed');
    expect(did).toEqual([]);
    expect(world.invocations[0]).toMatchObject({ end: 'failed', error: { code: 'TIMED_OUT' } });
  });
});

describe('world.failStorage', () => {
  it('fails the next requests; the agent does not see the errors, and the run is invoked again', async () => {
    const caught: unknown[] = [];
    let calls = 0;
    const { shopping, did } = shop();
    const world = testAgents(
      agent({
        name: 'parent',
        async run(ctx) {
          try {
            if (calls++ === 0) world.failStorage({ times: 3 });
            return await ctx.call(shopping, {});
          } catch (error) {
            caught.push(error);
          }
        },
      }),
      { agents: [shopping] },
    );
    const run = await world.start({});
    expect(await run.status()).toBe('SUCCEEDED');
    expect(caught).toEqual([]);
    expect(did).toEqual(['pay', 'ship']);
    expect(world.invocations.slice(0, 3)).toMatchObject(Array(3).fill({ end: 'failed' }));
  });

  it('gives up when every request fails', async () => {
    const world = testAgents(shop().shopping);
    world.failStorage({ times: Infinity });
    await expect(world.start({})).rejects.toThrow('was invoked 100 times, and each invocation failed');
  });
});
