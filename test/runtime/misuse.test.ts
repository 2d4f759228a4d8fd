import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { testAgents } from '../../lambda/testing.ts';

const odd = <T>(run: (ctx: AgentContext) => T | Promise<T>) => agent({ name: 'odd', run });

/** The error that the promise was rejected with. */
const failure = (promise: Promise<unknown>): Promise<Error & { code?: string; cause?: Error & { code?: string } }> =>
  promise.then(
    () => Promise.reject(new Error('It did not fail.')),
    (error) => error,
  );

describe('an agent', () => {
  it('succeeds without a result when it returns nothing', async () => {
    const run = await testAgents(odd(() => {})).start({});
    expect(await run.status()).toBe('SUCCEEDED');
    expect(await run.result()).toBeUndefined();
  });

  it('cannot be defined with a description that is not text', () => {
    const description = { en: 'Does little.' } as never;
    expect(() => agent({ name: 'odd', description, run: () => 1 })).toThrow(
      'The `description` of agent "odd" must be text; found {"en":"Does little."}.',
    );
  });

  it('can be a synchronous function, even one that throws', async () => {
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
  ])('fails the run at the first attempt when it throws %s', async (_, thrown, message) => {
    const world = testAgents(odd(() => Promise.reject(thrown)));
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow(message);
    expect(world.invocations).toEqual([{ end: 'finished', status: 'FAILED' }]);
  });

  it('records its error with the cause and the step that failed', async () => {
    const world = testAgents(
      odd((ctx) =>
        ctx.step('find', () => Promise.reject(new RangeError('far', { cause: new Error('deep') })), {
          retry: { maxAttempts: 1 },
        }),
      ),
    );
    const run = await world.start({});
    const error = await failure(run.result());
    expect(error).toMatchObject({ code: 'RUN_FAILED', cause: { name: 'RangeError', cause: { message: 'deep' } } });
    const last = (await run.checkpoints()).at(-1);
    expect(last?.toolResults['@error']).toMatchObject({ failedOperations: ['find'] });
  });

  it('fails with the reason after its maximum number of attempts when it never returns', async () => {
    let started = 0;
    const world = testAgents(
      agent({
        name: 'hanging',
        maxClaimsWithoutProgress: 3,
        async run(ctx) {
          await ctx.step('work', () => 1);
          started += 1;
          await new Promise(() => {});
        },
      }),
      { functionTimeout: { minutes: 1 } },
    );
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    // The first invocation made progress, so it does not count.
    expect(started).toBe(4);
    await expect(run.result()).rejects.toThrow(/was invoked 3 times without getting past checkpoint \d+.*hangs/);
  });

  it('aborts a step that never ends when the function times out, and fails in the end', async () => {
    const signals: AbortSignal[] = [];
    const world = testAgents(
      agent({
        name: 'hanging',
        maxClaimsWithoutProgress: 2,
        run: (ctx) =>
          ctx.step('work', ({ signal }) => {
            signals.push(signal);
            // The test clock stands still unless it is advanced.
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
  it('is not observed by try, catch and finally around a wait', async () => {
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

  it('waits for running steps inside Promise.all, and settles each wait at its time', async () => {
    const calls: string[] = [];
    const world = testAgents(
      odd((ctx) =>
        Promise.all([
          ctx.sleep('long', { days: 1 }).then(() => ctx.step('after', () => void calls.push('after'))),
          ctx.waitForSignal('go'),
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

  it('lets the first wait win inside Promise.race', async () => {
    const seen: string[] = [];
    const world = testAgents(
      odd(async (ctx) => {
        const first = await Promise.race([
          ctx.sleep('long', { days: 1 }).then(() => 'time'),
          ctx.waitForSignal('go').then(() => 'signal'),
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
  it('rejects calls after the agent has returned', async () => {
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

  it('rejects a step inside a step, by name, at the first attempt', async () => {
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
      cause: { code: 'AGENT_MISUSED', message: expect.stringMatching(/`ctx\.step` was called inside step "outer"/) },
    });
    expect(attempts).toBe(1);
  });

  it('records a step that is not awaited before the run ends', async () => {
    let done = 0;
    const world = testAgents(
      odd(async (ctx) => {
        void ctx.step('parallel', async () => {
          for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
          done += 1;
        });
        return 'returned';
      }),
    );
    const run = await world.start({});
    expect(await run.result()).toBe('returned');
    expect(done).toBe(1);
    expect((await run.checkpoints()).map(({ step }) => step)).toContain('parallel');
  });

  it.each([
    ['ctx.step', (ctx: AgentContext) => ctx.step('work', undefined as never)],
    ['ctx.tool', (ctx: AgentContext) => ctx.tool('work', {}, 'text' as never)],
    ['ctx.map', (ctx: AgentContext) => ctx.map('work', [1], undefined as never)],
    ['ctx.map', (ctx: AgentContext) => ctx.map('work', undefined as never, () => 1)],
    ['ctx.all', (ctx: AgentContext) => ctx.all('work', undefined as never)],
  ])('explains which arguments %s needs when they are missing', async (what, call) => {
    const run = await testAgents(odd(call)).start({});
    expect(await run.status()).toBe('FAILED');
    const { cause } = await failure(run.result());
    expect(cause).toMatchObject({ code: 'AGENT_MISUSED', message: expect.stringContaining(what) });
  });
});

describe('a value that cannot be stored', () => {
  it('fails the step with its path, and the run resumes on fixed code after a rewind', async () => {
    let broken = true;
    const calls: string[] = [];
    const world = testAgents(
      odd(async (ctx) => {
        await ctx.step('before', () => void calls.push('before'));
        const made = await ctx.step('make', () => {
          calls.push('make');
          return { list: [1, { socket: broken ? () => 1 : 'fixed' }] };
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

  it('does not affect steps that finish together with it', async () => {
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

  it('fails the run with its path when it is the result, and the run resumes on fixed code after a retry', async () => {
    let broken = true;
    const world = testAgents(odd(async (ctx) => ({ at: await ctx.step('work', () => 1), f: broken ? () => 1 : 2 })));
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow(/f is a function/);
    broken = false;
    await run.retry();
    expect(await run.result()).toEqual({ at: 1, f: 2 });
  });

  it('is rejected as an input before the run starts', async () => {
    const world = testAgents(odd(() => {}));
    await expect(world.start({ f: () => 1 }, { id: 'r' })).rejects.toMatchObject({ code: 'UNSUPPORTED_VALUE' });
    await expect(world.run('r').status()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });
});
