import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';

/** A tool that counts its calls and returns their number. */
function counter() {
  let count = 0;
  return {
    call: () => {
      count += 1;
      return count;
    },
    get count() {
      return count;
    },
  };
}

describe('a tool', () => {
  it('is recorded per call: a crash never pays twice, and a polling tool is called each time', async () => {
    const poll = counter();
    const polling = agent({
      name: 'polling',
      async run(ctx) {
        const answers: number[] = [];
        while (answers.at(-1) !== 3) answers.push(await ctx.tool('status', { job: 7 }, poll.call));
        await ctx.step('later', () => 1);
        return answers;
      },
    });
    const world = testAgents(polling);
    world.crash({ after: 'later', times: 2 });
    const run = await world.start({});
    expect(await run.result()).toEqual([1, 2, 3]);
    expect(poll.count).toBe(3);
    const results = (await run.checkpoints()).at(-1)?.toolResults ?? {};
    expect(Object.keys(results).filter((id) => id.startsWith('status'))).toEqual(
      expect.arrayContaining(['status', 'status#2', 'status#3']),
    );
  });

  it('is recorded by the call id of the model, in whatever order the calls are made', async () => {
    const calls: string[] = [];
    let order = ['call_a', 'call_b'];
    const modelled = agent({
      name: 'modelled',
      async run(ctx) {
        const results: Record<string, string> = {};
        for (const callId of order)
          results[callId] = await ctx.tool(
            'search',
            { for: callId },
            (args) => {
              calls.push(args.for);
              order = ['call_b', 'call_a'];
              return `found ${args.for}`;
            },
            { callId },
          );
        await ctx.step('later', () => 1);
        return results;
      },
    });
    const world = testAgents(modelled);
    world.crash({ after: 'later' });
    const run = await world.start({});
    expect(await run.result()).toEqual({ call_a: 'found call_a', call_b: 'found call_b' });
    expect(calls).toEqual(['call_a', 'call_b']);
  });

  it('receives its arguments unchanged, and the order of their keys makes no difference', async () => {
    let args: object = { b: 2, a: { y: new Date(0), x: [1, 2] } };
    const seen: object[] = [];
    const ordered = agent({
      name: 'ordered',
      async run(ctx) {
        const first = await ctx.tool('look', args, (given) => void seen.push(given));
        await ctx.step('later', () => {
          args = { a: { x: [1, 2], y: new Date(0) }, b: 2 };
        });
        return first;
      },
    });
    const world = testAgents(ordered);
    world.crash({ after: 'later' });
    const run = await world.start({});
    expect(await run.status()).toBe('SUCCEEDED');
    expect(seen).toEqual([{ b: 2, a: { y: new Date(0), x: [1, 2] } }]);
  });

  it('rejects arguments that cannot be stored, with their path', async () => {
    const wrong = agent({
      name: 'wrong',
      run: (ctx) => ctx.tool('search', { filter: { by: () => true } }, () => 1),
    });
    const run = await testAgents(wrong).start({});
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow(/arguments of search\.filter\.by is a function/);
  });
});

describe('a cached tool', () => {
  it('is called once per run for equal arguments, whatever the order of their keys', async () => {
    const price = counter();
    const cached = agent({
      name: 'cached',
      async run(ctx) {
        const one = await ctx.tool('price', { from: 'A', to: 'B' }, price.call, { cache: true });
        const same = await ctx.tool('price', { to: 'B', from: 'A' }, price.call, { cache: true });
        const other = await ctx.tool('price', { from: 'B', to: 'A' }, price.call, { cache: true });
        await ctx.step('later', () => 1);
        return [one, same, other];
      },
    });
    const world = testAgents(cached);
    world.crash({ after: 'later' });
    expect(await (await world.start({})).result()).toEqual([1, 1, 2]);
    expect(await (await world.start({})).result()).toEqual([3, 3, 4]);
  });

  it('does not share results with a tool of another name', async () => {
    const price = counter();
    const named = agent({
      name: 'named',
      run: async (ctx) => [
        await ctx.tool('price', {}, price.call, { cache: true }),
        await ctx.tool('fare', {}, price.call, { cache: true }),
      ],
    });
    expect(await (await testAgents(named).start({})).result()).toEqual([1, 2]);
  });

  it('is called again when the TTL has passed, and a replay uses the value that was used before', async () => {
    const price = counter();
    const options = { cache: { hours: 1 } };
    const timed = agent({
      name: 'timed',
      async run(ctx) {
        const prices = [await ctx.tool('price', {}, price.call, options)];
        await ctx.sleep('a while', { minutes: 59 });
        prices.push(await ctx.tool('price', {}, price.call, options));
        await ctx.sleep('a little more', { minutes: 2 });
        prices.push(await ctx.tool('price', {}, price.call, options));
        await ctx.sleep('long', { hours: 5 });
        return [...prices, await ctx.tool('price', {}, price.call, { cache: { ttl: { days: 1 } } })];
      },
    });
    const world = testAgents(timed);
    const run = await world.start({});
    await world.skip({ hours: 10 });
    expect(await run.result()).toEqual([1, 1, 2, 2]);
    expect(price.count).toBe(2);
  });

  it('returns the same value in a replay of a call without a TTL, even when another call renewed it', async () => {
    const price = counter();
    const seen: number[] = [];
    const mixed = agent({
      name: 'mixed',
      async run(ctx) {
        await ctx.tool('price', {}, price.call, { cache: true });
        seen.push(await ctx.tool('price', {}, price.call, { cache: true }));
        await ctx.sleep('long', { hours: 2 });
        await ctx.tool('price', {}, price.call, { cache: { hours: 1 } });
        await ctx.step('later', () => 1);
        return price.count;
      },
    });
    const world = testAgents(mixed);
    world.crash({ after: 'later' });
    const run = await world.start({});
    await world.skip({ hours: 3 });
    expect(await run.result()).toBe(2);
    expect(seen).toEqual([1, 1, 1]);
  });

  it('returns to concurrent branches the value that each of them got, also after a crash', async () => {
    const price = counter();
    const seen: number[][] = [];
    const parallel = agent({
      name: 'parallel',
      async run(ctx) {
        const prices = await ctx.map('prices', [1, 2, 3], (branch, n) =>
          branch.tool(
            'price',
            {},
            async () => {
              const called = price.call();
              for (let i = 0; i < 20 * n; i++) await tick();
              return called;
            },
            { cache: true },
          ),
        );
        seen.push(prices);
        await ctx.step('later', () => 1);
        return ctx.tool('price', {}, price.call, { cache: true });
      },
    });
    const world = testAgents(parallel);
    world.crash({ after: 'later', times: 2 });
    const run = await world.start({});
    expect(seen).toHaveLength(3);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
    expect(seen[0]).toContain(await run.result());
  });

  it('shares results among the runs of a tenant, and with no other tenant', async () => {
    const price = counter();
    const sharing = agent({
      name: 'sharing',
      run: (ctx) => ctx.tool('price', { to: 'B' }, price.call, { cache: { hours: 1, shared: true } }),
    });
    const storage = memoryStorage();
    const ours = testAgents(sharing, { storage, tenant: 'ours' });
    const theirs = testAgents(sharing, { storage, tenant: 'theirs' });
    expect(await (await ours.start({})).result()).toBe(1);
    expect(await (await ours.start({})).result()).toBe(1);
    expect(await (await theirs.start({})).result()).toBe(2);
    expect(await (await ours.start({})).result()).toBe(1);
    await ours.skip({ hours: 1 });
    expect(await (await ours.start({})).result()).toBe(3);
    expect(await (await ours.start({})).result()).toBe(3);
  });

  it('does not share results without the `shared` option', async () => {
    const price = counter();
    const alone = agent({
      name: 'alone',
      run: (ctx) => ctx.tool('price', {}, price.call, { cache: { hours: 1 } }),
    });
    const world = testAgents(alone);
    expect(await (await world.start({})).result()).toBe(1);
    expect(await (await world.start({})).result()).toBe(2);
  });

  it('returns the value that was used in a replay, even when the shared value has changed since', async () => {
    const price = counter();
    const sharing = agent({
      name: 'sharing',
      async run(ctx, wait: boolean) {
        const used = await ctx.tool('price', {}, price.call, { cache: { hours: 1, shared: true } });
        if (wait) await ctx.sleep('long', { days: 1 });
        return used;
      },
    });
    const world = testAgents(sharing);
    const run = await world.start(true);
    const other = await world.start(true);
    await world.skip({ hours: 2 });
    expect(await (await world.start(false)).result()).toBe(2);
    await world.skip({ days: 1 });
    expect(await run.result()).toBe(1);
    expect(await other.result()).toBe(1);
  });

  it('shares a payload whose original run was deleted', async () => {
    const price = counter();
    const sharing = agent({
      name: 'sharing',
      async run(ctx) {
        const page = await ctx.tool('page', {}, () => ctx.payload(`page ${price.call()}`.repeat(2_000)), {
          cache: { shared: true },
        });
        return (await page.text()).slice(0, 6);
      },
    });
    const world = testAgents(sharing);
    const first = await world.start({});
    expect(await first.result()).toBe('page 1');
    await world.agent.store.delete(first.id);
    expect(await (await world.start({})).result()).toBe('page 1');
  });

  it('keeps its results over the turns of a run', async () => {
    const price = counter();
    const turning = agent({
      name: 'turning',
      state: { initial: () => ({ prices: [] as number[] }) },
      async turn(ctx, state) {
        if (state.prices.length === 5) return ctx.done(state.prices);
        const found = await ctx.tool('price', {}, price.call, { cache: true });
        await ctx.step('later', () => 1);
        return { prices: [...state.prices, found] };
      },
    });
    const world = testAgents(turning);
    for (let turn = 1; turn <= 5; turn++) world.crash({ after: `turn ${turn}/later` });
    expect(await (await world.start({})).result()).toEqual([1, 1, 1, 1, 1]);
  });

  it('hides a storage failure from the agent: the invocation fails, and the next one resumes', async () => {
    const { records, payloads } = memoryStorage();
    const price = counter();
    let failures = 2;
    const storage = {
      payloads,
      records: {
        ...records,
        async read(...args: Parameters<typeof records.read>) {
          if (args[0].endsWith('/@cache') && failures-- > 0)
            throw new WaitstateError('STORAGE_UNAVAILABLE', 'The storage failed on purpose.');
          return records.read(...args);
        },
      },
    };
    const caught: string[] = [];
    const sharing = agent({
      name: 'sharing',
      async run(ctx) {
        try {
          return await ctx.tool('price', {}, price.call, { cache: { shared: true } });
        } catch (error) {
          caught.push(String(error));
          return 'caught';
        }
      },
    });
    const world = testAgents(sharing, { storage });
    expect(await (await world.start({})).result()).toBe(1);
    expect(caught).toEqual([]);
    expect(world.invocations.map(({ end }) => end)).toEqual(['failed', 'failed', 'finished']);
  });

  it('does not cache a failure', async () => {
    let calls = 0;
    const unlucky = agent({
      name: 'unlucky',
      async run(ctx) {
        const lookUp = () => {
          calls += 1;
          if (calls === 1) throw new Error('not now');
          return 'found';
        };
        const options = { cache: true, retry: { maxAttempts: 1 } };
        const first = await ctx.tool('look', {}, lookUp, options).catch((error: Error) => error.message);
        return [first, await ctx.tool('look', {}, lookUp, options)];
      },
    });
    expect(await (await testAgents(unlucky).start({})).result()).toEqual(['not now', 'found']);
  });
});
