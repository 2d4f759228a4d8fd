import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { testAgents } from '../../lambda/testing.ts';

const odd = <T>(run: (ctx: AgentContext) => T | Promise<T>) => agent({ name: 'odd', run });

/** What the promise was rejected with. */
const failure = (promise: Promise<unknown>): Promise<Error & { code?: string; cause?: Error & { code?: string } }> =>
  promise.then(
    () => Promise.reject(new Error('It did not fail.')),
    (error) => error,
  );

describe('an agent that', () => {
  it('returns nothing succeeds with nothing', async () => {
    const run = await testAgents(odd(() => {})).start({});
    expect(await run.status()).toBe('SUCCEEDED');
    expect(await run.result()).toBeUndefined();
  });

  it('is no async function is run all the same, also when it throws at once', async () => {
    expect(await (await testAgents(odd(() => 7)).start({})).result()).toBe(7);
    const throwing = odd(() => {
      throw new Error('at once');
    });
    await expect((await testAgents(throwing).start({})).result()).rejects.toThrow(/at once/);
  });

  it.each([
    ['a string', 'just text', /is FAILED: just text/],
    ['null', null, /is FAILED: Thrown: null/],
    ['undefined', undefined, /is FAILED: Thrown: undefined/],
    ['an object with functions', { code: 7, f: () => 1 }, /is FAILED: Thrown: \{ code: 7/],
    ['a symbol', Symbol('odd'), /is FAILED: Thrown: Symbol\(odd\)/],
    ['an error with functions', Object.assign(new TypeError('odd'), { f: () => 1 }), /is FAILED: odd/],
    ['an error with an odd cause', new Error('odd', { cause: { f: () => 1 } }), /is FAILED: odd/],
  ])('throws %s fails the run with what it says, at the first attempt', async (_, thrown, says) => {
    const world = testAgents(odd(() => Promise.reject(thrown)));
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow(says);
    expect(world.invocations).toEqual([{ end: 'finished', status: 'FAILED' }]);
  });

  it('keeps the error it failed with, its cause, and the step at which it came up', async () => {
    const world = testAgents(
      odd((ctx) =>
        ctx.step('find', () => Promise.reject(new RangeError('far', { cause: new Error('deep') })), {
          retry: { attempts: 1 },
        }),
      ),
    );
    const run = await world.start({});
    const error = await failure(run.result());
    expect(error).toMatchObject({ code: 'RUN_FAILED', cause: { name: 'RangeError', cause: { message: 'deep' } } });
    const last = (await run.checkpoints()).at(-1);
    expect(last?.toolResults['@error']).toMatchObject({ failedAt: ['find'] });
  });

  it('never returns is invoked as often as it may be, then FAILED with the reason', async () => {
    let began = 0;
    const world = testAgents(
      agent({
        name: 'hanging',
        maxAttempts: 3,
        async run(ctx) {
          await ctx.step('work', () => 1);
          began += 1;
          await new Promise(() => {});
        },
      }),
      { functionTimeout: { minutes: 1 } },
    );
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    // The first got something done, so it does not count.
    expect(began).toBe(4);
    await expect(run.result()).rejects.toThrow(/was invoked 3 times without getting past checkpoint \d+.*hangs/);
  });

  it('has a step that never ends is let go of at the end of its function, told to stop, and FAILED in the end', async () => {
    const signals: AbortSignal[] = [];
    const world = testAgents(
      agent({
        name: 'hanging',
        maxAttempts: 2,
        run: (ctx) =>
          ctx.step('work', ({ signal }) => {
            signals.push(signal);
            // The time of the test stands still unless it is moved.
            setImmediate(() => world.clock.moveTo(world.clock.now() + 60_000));
            return new Promise(() => {});
          }),
      }),
      { functionTimeout: { minutes: 1 } },
    );
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    await expect(run.result()).rejects.toThrow(/was invoked 2 times/);
  });
});

describe('suspension', () => {
  it('is not seen by try, catch and finally around a wait', async () => {
    const seen: string[] = [];
    const world = testAgents(
      odd(async (ctx) => {
        try {
          await ctx.sleep('long', { days: 1 });
          seen.push('slept');
        } catch {
          seen.push('caught');
        } finally {
          seen.push('finally');
        }
        return 'done';
      }),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('SLEEPING');
    expect(seen).toEqual([]);
    expect(world.invocations).toEqual([{ end: 'suspended', status: 'SLEEPING' }]);
    expect(world.clock.next).toBeUndefined();
    await world.skip({ days: 2 });
    expect(await run.result()).toBe('done');
    expect(seen).toEqual(['slept', 'finally']);
  });

  it('inside Promise.all waits for the work beside it, and takes each in its time', async () => {
    const calls: string[] = [];
    const world = testAgents(
      odd((ctx) =>
        Promise.all([
          ctx.sleep('long', { days: 1 }).then(() => ctx.step('after', () => void calls.push('after'))),
          ctx.waitForSignal<string>('go'),
          ctx.step('work', () => {
            calls.push('work');
            return 'worked';
          }),
        ]),
      ),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
    expect(calls).toEqual(['work']);
    await run.signal('go', 'gone');
    expect(await run.status()).toBe('SLEEPING');
    await world.skip({ days: 2 });
    expect(await run.result()).toEqual([undefined, 'gone', 'worked']);
    expect(calls).toEqual(['work', 'after']);
  });

  it('inside Promise.race lets the first win', async () => {
    const seen: string[] = [];
    const world = testAgents(
      odd(async (ctx) => {
        const first = await Promise.race([
          ctx.sleep('long', { days: 1 }).then(() => 'time'),
          ctx.waitForSignal<string>('go').then(() => 'signal'),
        ]);
        seen.push(first);
        await ctx.step('later', () => 1);
        return first;
      }),
    );
    world.crash({ after: 'later' });
    const run = await world.start({});
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
    await run.signal('go');
    expect(await run.result()).toBe('signal');
    expect(seen).toEqual(['signal', 'signal']);
  });
});

describe('the context', () => {
  it('refuses calls after the end of the agent', async () => {
    let kept: AgentContext | undefined;
    const world = testAgents(
      odd(async (ctx) => {
        kept = ctx;
        return ctx.step('work', () => 1);
      }),
    );
    const run = await world.start({});
    expect(await run.result()).toBe(1);
    let ran = false;
    const late = () => {
      ran = true;
    };
    for (const call of [
      () => kept?.step('late', late),
      () => kept?.tool('late', {}, late),
      () => kept?.sleep('late', { days: 1 }),
      () => kept?.waitForSignal('late'),
      () => kept?.now(),
      () => kept?.checkpoint('late'),
      () => kept?.map('late', [1], late),
      () => kept?.call('late', {}),
      () => kept?.approval('late', { title: 'Late?', approvers: ['user:ann'] }),
    ])
      expect(await failure(Promise.resolve(call()))).toMatchObject({
        code: 'AGENT_MISUSED',
        message: expect.stringMatching(/after the agent had returned/),
      });
    expect(ran).toBe(false);
    expect(await run.status()).toBe('SUCCEEDED');
  });

  it('refuses a step inside of a step, by name, at the first attempt', async () => {
    let attempts = 0;
    const world = testAgents(
      odd((ctx) =>
        ctx.step('outer', async () => {
          attempts += 1;
          return ctx.step('inner', () => 1);
        }),
      ),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    expect(await failure(run.result())).toMatchObject({
      cause: { code: 'AGENT_MISUSED', message: expect.stringMatching(/`ctx\.step` was called inside of step "outer"/) },
    });
    expect(attempts).toBe(1);
  });

  it('records a step that nobody awaits before the run ends', async () => {
    let done = 0;
    const world = testAgents(
      odd(async (ctx) => {
        void ctx.step('beside', async () => {
          for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
          done += 1;
        });
        return 'returned';
      }),
    );
    const run = await world.start({});
    expect(await run.result()).toBe('returned');
    expect(done).toBe(1);
    expect((await run.checkpoints()).map(({ step }) => step)).toContain('beside');
  });

  it.each([
    ['ctx.step', (ctx: AgentContext) => ctx.step('work', undefined as never)],
    ['ctx.tool', (ctx: AgentContext) => ctx.tool('work', {}, 'text' as never)],
    ['ctx.map', (ctx: AgentContext) => ctx.map('work', [1], undefined as never)],
    ['ctx.map', (ctx: AgentContext) => ctx.map('work', undefined as never, () => 1)],
    ['ctx.all', (ctx: AgentContext) => ctx.all('work', undefined as never)],
  ])('says what %s needs when it is not given', async (what, call) => {
    const run = await testAgents(odd(call)).start({});
    expect(await run.status()).toBe('FAILED');
    const { cause } = await failure(run.result());
    expect(cause).toMatchObject({ code: 'AGENT_MISUSED', message: expect.stringContaining(what) });
  });
});

describe('what cannot be saved', () => {
  it('fails the step by its path, the run cleanly, and a rewind with mended code goes on', async () => {
    let broken = true;
    const calls: string[] = [];
    const world = testAgents(
      odd(async (ctx) => {
        await ctx.step('before', () => void calls.push('before'));
        const made = await ctx.step('make', () => {
          calls.push('make');
          return { list: [1, { socket: broken ? () => 1 : 'mended' }] };
        });
        return made.list.length;
      }),
    );
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    expect(await failure(run.result())).toMatchObject({
      cause: { code: 'UNSUPPORTED_VALUE', message: expect.stringMatching(/make.*list\[1\]\.socket is a function/) },
    });
    expect(calls).toEqual(['before', 'make']);
    broken = false;
    const { version = 0 } = (await run.checkpoints()).find(({ step }) => step === 'before') ?? {};
    await run.rewind(version);
    expect(await run.result()).toBe(2);
    expect(calls).toEqual(['before', 'make', 'make']);
  });

  it('does not harm what finishes together with it', async () => {
    const world = testAgents(
      odd((ctx) =>
        ctx.map('both', [1, 2, 3], (branch, n) =>
          branch.step('make', () => (n === 2 ? { f: () => 1 } : n)).catch((error: { code: string }) => error.code),
        ),
      ),
    );
    const run = await world.start({});
    expect(await run.result()).toEqual([1, 'UNSUPPORTED_VALUE', 3]);
  });

  it('fails the run when it is the result of the agent, by its path; mended code goes on with a retry', async () => {
    let broken = true;
    const world = testAgents(odd(async (ctx) => ({ at: await ctx.step('work', () => 1), f: broken ? () => 1 : 2 })));
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow(/f is a function/);
    broken = false;
    await run.retry();
    expect(await run.result()).toEqual({ at: 1, f: 2 });
  });

  it('is refused as an input before there is a run', async () => {
    const world = testAgents(odd(() => {}));
    await expect(world.start({ f: () => 1 }, { id: 'r' })).rejects.toMatchObject({ code: 'UNSUPPORTED_VALUE' });
    await expect(world.run('r').status()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });
});
