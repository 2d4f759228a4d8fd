import { describe, expect, it } from 'vitest';
import type { Payload } from '../../lambda/checkpoints/payload.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { testAgents } from '../../lambda/testing.ts';

const MOMENTS = ['before', 'after', 'recorded'] as const;
const MOMENT_NAMES = {
  before: 'before its function',
  after: 'after its function',
  recorded: 'after its result was recorded',
};

describe('a step', () => {
  it('returns the same normalized and frozen value at first and after a crash', async () => {
    const seen: unknown[] = [];
    const values = agent({
      name: 'values',
      async run(ctx) {
        const value = await ctx.step('make', () => ({
          at: new Date('2026-03-01T00:00:00Z'),
          byName: new Map([['a', new Set([1, 2])]]),
          nothing: undefined,
          list: [1, undefined, null, -0, Number.NaN, 12n],
          bytes: new Uint8Array([1, 2, 3]),
        }));
        seen.push(value);
        await ctx.step('later', () => 1);
        return Object.isFrozen(value) && Object.isFrozen(value.list);
      },
    });
    const world = testAgents(values);
    world.crash({ after: 'later' });
    const run = await world.start({});
    expect(await run.result()).toBe(true);
    const [first, replayed] = seen;
    expect(seen).toHaveLength(2);
    expect(first).toStrictEqual({
      at: new Date('2026-03-01T00:00:00Z'),
      byName: new Map([['a', new Set([1, 2])]]),
      nothing: undefined,
      list: [1, undefined, null, -0, Number.NaN, 12n],
      bytes: new Uint8Array([1, 2, 3]),
    });
    expect(replayed).toStrictEqual(first);
    expect(Object.isFrozen(first)).toBe(true);
    expect(Object.isFrozen(replayed)).toBe(true);
  });

  it('returns a copy of the object that its function created', async () => {
    const own = { list: [1] };
    const aliasing = agent({
      name: 'aliasing',
      async run(ctx) {
        const given = await ctx.step('make', () => own);
        own.list.push(2);
        return { same: (given as unknown) === own, list: given.list };
      },
    });
    const run = await testAgents(aliasing).start({});
    expect(await run.result()).toEqual({ same: false, list: [1] });
  });

  it('returns undefined when its function returns nothing, and does not run again', async () => {
    let count = 0;
    const silent = agent({
      name: 'silent',
      async run(ctx) {
        const value = await ctx.step('nothing', () => {
          count += 1;
        });
        await ctx.step('later', () => 1);
        return [value];
      },
    });
    const world = testAgents(silent);
    world.crash({ after: 'later' });
    expect(await (await world.start({})).result()).toEqual([undefined]);
    expect(count).toBe(1);
  });

  it('throws an error with its name, fields and causes, both at first and in a replay', async () => {
    const caught: unknown[] = [];
    const failing = agent({
      name: 'failing',
      async run(ctx) {
        try {
          await ctx.step(
            'fail',
            () => {
              const cause = new RangeError('too far', { cause: new Error('the deepest') });
              throw Object.assign(new TypeError('wrong', { cause }), { status: 418, at: new Date(5) });
            },
            { retry: { maxAttempts: 1 } },
          );
        } catch (error) {
          caught.push(error);
        }
        return ctx.step('later', () => 'went on');
      },
    });
    const world = testAgents(failing);
    world.crash({ after: 'later' });
    expect(await (await world.start({})).result()).toBe('went on');
    expect(caught).toHaveLength(2);
    for (const error of caught as (Error & { status: number; at: Date })[]) {
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toMatchObject({ name: 'TypeError', message: 'wrong', status: 418, at: new Date(5) });
      expect(error.cause).toBeInstanceOf(RangeError);
      expect((error.cause as Error).cause).toMatchObject({ message: 'the deepest' });
    }
  });

  it('stores payloads by reference, readable at first and after a crash', async () => {
    const texts: string[] = [];
    const pages = agent({
      name: 'pages',
      async run(ctx) {
        const page = await ctx.step('fetch', () => ctx.payload('the page '.repeat(5_000), { type: 'text/plain' }));
        texts.push(await page.text());
        await ctx.step('later', () => 1);
        return { page };
      },
    });
    const world = testAgents(pages);
    world.crash({ after: 'later' });
    const { page } = await (await world.start({})).result();
    expect(page).toMatchObject({ type: 'text/plain', size: 45_000 });
    expect(await page.text()).toBe(texts[0]);
    expect(texts).toEqual(['the page '.repeat(5_000), 'the page '.repeat(5_000)]);
  });

  it('stores a result of 5 MB', async () => {
    const large = agent({
      name: 'large',
      async run(ctx) {
        const { text } = await ctx.step('make', () => ({ text: 'abcde'.repeat(1_048_576) }));
        await ctx.step('later', () => text.length);
        return text.length;
      },
    });
    const world = testAgents(large);
    world.crash({ after: 'later' });
    expect(await (await world.start({})).result()).toBe(5 * 1_048_576);
  });

  it('has one idempotency key for all attempts, different from every other step and run', async () => {
    const keys: string[] = [];
    const keyed = agent({
      name: 'keyed',
      async run(ctx) {
        for (const name of ['a', 'b'])
          await ctx.step(name, ({ idempotencyKey, attempt }) => {
            keys.push(idempotencyKey);
            if (attempt < 3) throw new Error('again');
          });
      },
    });
    const world = testAgents(keyed);
    world.crash({ after: 'b', times: 1 });
    await world.start({}, { id: 'one' });
    await world.start({}, { id: 'two' });
    expect(keys.slice(0, 3)).toEqual(Array(3).fill(keys[0]));
    // One more attempt: its failure was not recorded before the crash.
    expect(keys.slice(3, 7)).toEqual(Array(4).fill(keys[3]));
    expect(new Set(keys).size).toBe(4);
  });
});

describe('a longer agent', () => {
  const STEPS = ['one', 'two', 'three', 'four', 'five', 'six'];

  function counting() {
    const calls = new Map<string, number>();
    const longer = agent({
      name: 'longer',
      state: { initial: () => ({ seen: [] as string[] }) },
      async run(ctx) {
        let sum = 0;
        for (const [i, name] of STEPS.entries()) {
          sum += await ctx.step(name, () => {
            calls.set(name, (calls.get(name) ?? 0) + 1);
            return 10 ** i;
          });
          await ctx.update((draft) => void draft.seen.push(name));
        }
        return { sum, seen: ctx.state.seen };
      },
    });
    return { calls, longer };
  }

  for (const moment of MOMENTS) {
    for (const step of STEPS) {
      it(`ends with the same result when it crashes at step ${step} (${MOMENT_NAMES[moment]})`, async () => {
        const { calls, longer } = counting();
        const world = testAgents(longer);
        world.crash({ [moment]: step });
        const run = await world.start({});
        expect(await run.result()).toEqual({ sum: 111_111, seen: STEPS });
        for (const name of STEPS) expect(calls.get(name)).toBe(name === step && moment === 'after' ? 2 : 1);
      });
    }
  }

  it('ends with the same result when it crashes before and after every step and after each record', async () => {
    const { calls, longer } = counting();
    const world = testAgents(longer);
    for (const step of STEPS) for (const moment of MOMENTS) world.crash({ [moment]: step });
    const run = await world.start({});
    expect(await run.result()).toEqual({ sum: 111_111, seen: STEPS });
    for (const name of STEPS) expect(calls.get(name)).toBe(2);
    const versions = (await run.checkpoints()).map(({ version }) => version);
    expect(versions).toEqual(versions.map((_, i) => i + 1));
  });

  it('runs no step twice when it is invoked twice at once', async () => {
    const { calls, longer } = counting();
    const world = testAgents(longer, { deliverTwice: true });
    const run = await world.start({});
    expect(await run.result()).toEqual({ sum: 111_111, seen: STEPS });
    expect([...calls.values()]).toEqual(STEPS.map(() => 1));
  });
});

describe('the result of a step', () => {
  /** A storage whose commits wait while its gate is closed. */
  function gated(): { storage: Storage; close(): void; open(): void; waiting(): number } {
    const { records, payloads } = memoryStorage();
    let gate: PromiseWithResolvers<void> | undefined;
    let waiting = 0;
    return {
      storage: {
        payloads,
        records: {
          ...records,
          async commit(writes) {
            if (gate) {
              waiting += 1;
              await gate.promise;
              waiting -= 1;
            }
            await records.commit(writes);
          },
        },
      },
      close() {
        gate = Promise.withResolvers();
      },
      open() {
        gate?.resolve();
        gate = undefined;
      },
      waiting: () => waiting,
    };
  }

  it('reaches the agent only after the storage has confirmed it', async () => {
    const gate = gated();
    const events: string[] = [];
    const careful = agent({
      name: 'careful',
      async run(ctx) {
        await ctx.step('work', () => {
          events.push('worked');
          gate.close();
        });
        events.push('known');
        return 'done';
      },
    });
    const world = testAgents(careful, { storage: gate.storage });
    const { id } = await world.agent.start({}, { id: 'r' });
    const invoked = world.agent.invoke({ run: id }, { by: 'me', until: world.clock.now() + 600_000 });
    await expect.poll(gate.waiting).toBe(1);
    // All other tasks have completed by now.
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(events).toEqual(['worked']);
    gate.open();
    expect(await invoked).toEqual({ end: 'finished', status: 'SUCCEEDED' });
    expect(events).toEqual(['worked', 'known']);
  });
});

describe('the other operations of the context', () => {
  it('return the same time, numbers and ids in each replay, also in branches, and different ones in another run', async () => {
    const seen: unknown[][] = [];
    const drawing = agent({
      name: 'drawing',
      async run(ctx) {
        const own = [await ctx.now(), ctx.random(), ctx.random(), ctx.uuid()];
        const branches = await ctx.map('branches', [1, 2], async (branch) => [
          branch.random(),
          branch.uuid(),
          await branch.now(),
        ]);
        await ctx.sleep('long', { hours: 1 });
        own.push(...branches.flat(), ctx.random());
        seen.push([...own, await ctx.now()]);
        await ctx.step('later', () => 1);
      },
    });
    const world = testAgents(drawing);
    world.crash({ after: 'later' });
    const run = await world.start({});
    await world.skip({ hours: 1 });
    expect(await run.status()).toBe('SUCCEEDED');
    const [first = [], again, ...none] = seen;
    expect(again).toEqual(first);
    expect(none).toEqual([]);
    expect(first[0]).toEqual(new Date('2026-01-01T00:00:00Z'));
    expect(first.at(-1)).toEqual(new Date('2026-01-01T01:00:00Z'));
    const numbers = first.filter((value) => typeof value === 'number');
    expect(numbers).toHaveLength(5);
    for (const number of numbers) expect(number >= 0 && number < 1).toBe(true);
    const ids = first.filter((value) => typeof value === 'string');
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set([...numbers, ...ids]).size).toBe(8);
    await world.start({});
    await world.skip({ hours: 1 });
    const other = seen[2] ?? [];
    expect(other.filter((value) => numbers.includes(value as number) || ids.includes(value as string))).toEqual([]);
  });

  it('are rejected in a step, where a replay would not count them', async () => {
    for (const what of ['random', 'uuid', 'now'] as const) {
      const inside = agent({ name: 'inside', run: (ctx) => ctx.step('draw', async () => void (await ctx[what]())) });
      const run = await testAgents(inside).start({});
      await expect(run.result()).rejects.toThrow(new RegExp(`\`ctx\\.${what}\` was called inside step "draw"`));
    }
  });

  it('name a checkpoint that can be loaded by its name; a repeated name means the last one', async () => {
    const named = agent({
      name: 'named',
      state: { initial: () => ({ n: 0 }) },
      async run(ctx) {
        for (const name of ['draft', 'draft', 'final']) {
          await ctx.update((draft) => {
            draft.n += 1;
          });
          await ctx.checkpoint(name);
        }
        await ctx.step('later', () => 1);
      },
    });
    const world = testAgents(named);
    world.crash({ after: 'later' });
    const run = await world.start({});
    expect(await run.status()).toBe('SUCCEEDED');
    expect((await world.agent.store.load(run.id, { name: 'draft' })).state).toEqual({ n: 2 });
    expect((await world.agent.store.load(run.id, { name: 'final' })).state).toEqual({ n: 3 });
    expect((await run.checkpoints()).flatMap(({ name }) => name ?? [])).toEqual(['draft', 'draft', 'final']);
  });

  it('write to the log once, despite crashes and waits', async () => {
    const lines: string[] = [];
    const logging = agent({
      name: 'logging',
      async run(ctx) {
        ctx.log('begins');
        await ctx.now();
        ctx.log('after the time');
        await ctx.step('one', () => 1);
        ctx.log('after one', { n: 1 });
        await ctx.sleep('long', { hours: 1 });
        ctx.log('after the wait');
        await ctx.waitForSignal('go');
        ctx.log('after the signal');
        await ctx.step('two', () => 2);
        ctx.log('after two');
        await ctx.step('three', () => 3);
      },
    });
    const world = testAgents(logging, {
      log: (level, message, fields) => void lines.push(`${level} ${message} ${fields.agent} ${fields.n ?? ''}`.trim()),
    });
    world.crash({ after: 'three' });
    const run = await world.start({});
    await world.skip({ hours: 1 });
    await run.signal('go');
    expect(await run.status()).toBe('SUCCEEDED');
    expect(lines).toEqual([
      'info begins logging',
      'info after the time logging',
      'info after one logging 1',
      'info after the wait logging',
      'info after the signal logging',
      'info after two logging',
    ]);
  });

  it('store a payload in the state, from bytes or from a stream', async () => {
    const keeping = agent({
      name: 'keeping',
      state: { initial: () => ({ pages: [] as Payload[] }) },
      async run(ctx) {
        const stream = async function* () {
          yield new Uint8Array([1, 2]);
          yield new Uint8Array([3]);
        };
        await ctx.update((draft) => void draft.pages.push(ctx.payload('text'), ctx.payload(stream())));
        await ctx.step('later', () => 1);
        return Promise.all(ctx.state.pages.map((page) => page.bytes()));
      },
    });
    const run = await testAgents(keeping).start({});
    expect(await run.result()).toEqual([new Uint8Array(Buffer.from('text')), new Uint8Array([1, 2, 3])]);
  });
});
