import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { type AgentContext, agent } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import type { RunEvent } from '../../lambda/operator/run-events.ts';
import type { AnyAgent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentOptions } from '../../lambda/runtime/agent/agent-options.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { testAgents } from '../../lambda/testing.ts';
import { describeOnEachStorage, interceptCommits } from './storages.ts';

/** The operator of an agent in a test. */
const operatorOf = (tested: AnyAgent, storage: Storage, options: AgentOptions = {}) =>
  createOperator(tested.with({ ...options, storage }).runtime);

/** What the agent emitted, and the checkpoint that recorded it. */
const emitted = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'event' ? [[event.data, event.version]] : []));

const dataOf = (events: readonly RunEvent[]) => emitted(events).map(([data]) => data);

/** 200 KB that do not compress to less than half. */
const randomText = (seed: string): string =>
  Array.from({ length: 3200 }, (_, n) => createHash('sha256').update(`${seed} ${n}`).digest('hex')).join('');

describeOnEachStorage('emitted events', (open) => {
  it('are recorded with the next checkpoint, in order, and cost no write of their own', async () => {
    const storage = await open();
    let commits = 0;
    const counted = interceptCommits(storage, async (_, commit) => {
      commits += 1;
      await commit();
    });
    const create = (emits: boolean) =>
      agent({
        name: 'emitting',
        async run(ctx) {
          if (emits) ctx.emit('start');
          await ctx.step('search', ({ emit }) => emits && emit({ found: 2 }));
          if (emits) ctx.emit({ at: new Date(5) });
          await ctx.step('book', () => 1);
          if (emits) ctx.emit('done');
        },
      });
    const quiet = create(false);
    await (await testAgents(quiet, { storage: counted }).start({}, { id: 'quiet' })).result();
    const quietCommits = commits;
    commits = 0;
    const loud = create(true);
    await (await testAgents(loud, { storage: counted }).start({}, { id: 'loud' })).result();
    expect(commits).toBe(quietCommits);
    const { events, hasEnded, status } = await operatorOf(loud, storage).events('loud');
    expect(emitted(events)).toEqual([
      ['start', 3],
      [{ found: 2 }, 3],
      [{ at: { $: ['date', 5] } }, 4],
      ['done', 5],
    ]);
    expect(events.find((event) => event.type === 'event' && event.step === 'search')).toMatchObject({ attempt: 1 });
    expect(events.flatMap((event) => (event.type === 'checkpoint' ? event.checkpoint.version : []))).toEqual([
      1, 2, 3, 4, 5,
    ]);
    expect({ hasEnded, status }).toEqual({ hasEnded: true, status: 'SUCCEEDED' });
  });

  it('are recorded once when processes crash, and when the run waits and replays', async () => {
    const storage = await open();
    const asking = agent({
      name: 'asking',
      async run(ctx) {
        ctx.emit('begin');
        await ctx.step('search', ({ emit }) => emit('searching'));
        await ctx.all('parts', [
          async (branch) => {
            branch.emit('left');
            await branch.step('one', () => 1);
            branch.emit('left done');
          },
          async (branch) => {
            await branch.step('two', () => 2);
            branch.emit('right done');
          },
        ]);
        ctx.emit('ask');
        await ctx.approval('go', { title: 'Go?', approvers: ['user:ann'] });
        ctx.emit('approved');
        await ctx.step('pay', () => 1);
        ctx.emit('paid');
      },
    });
    const world = testAgents(asking, { storage });
    world.crash({ before: 'search' });
    world.crash({ after: 'search' });
    world.crash({ recorded: 'search' });
    world.crash({ before: 'pay' });
    world.crash({ after: 'pay' });
    world.crash({ recorded: 'pay' });
    const run = await world.start({}, { id: 'asked' });
    await run.approve('go');
    await run.expect({ status: 'SUCCEEDED' });
    const { events } = await operatorOf(asking, storage).events('asked');
    expect(dataOf(events).toSorted()).toEqual(
      ['approved', 'ask', 'begin', 'left', 'left done', 'paid', 'right done', 'searching'].toSorted(),
    );
    expect(dataOf(events).slice(0, 2)).toEqual(['begin', 'searching']);
    expect(dataOf(events).slice(-3)).toEqual(['ask', 'approved', 'paid']);
  });

  it('are recorded once in turns, and the counts of finished turns are dropped', async () => {
    const storage = await open();
    const counting = agent({
      name: 'counting',
      state: { initial: () => ({ turns: 0 }) },
      async turn(ctx, state) {
        ctx.emit(`turn ${state.turns}`);
        await ctx.step('work', () => 1);
        ctx.emit(`end ${state.turns}`);
        return state.turns === 3 ? ctx.done('ok') : { turns: state.turns + 1 };
      },
    });
    const world = testAgents(counting, { storage });
    world.crash({ recorded: 'work', times: 2 });
    const run = await world.start({}, { id: 'counted' });
    await run.expect({ status: 'SUCCEEDED' });
    const operator = operatorOf(counting, storage);
    expect(dataOf((await operator.events('counted')).events)).toEqual(
      [0, 1, 2, 3].flatMap((n) => [`turn ${n}`, `end ${n}`]),
    );
    const counts = (await operator.checkpoint('counted')).toolResults['@emitted'] as { value: object };
    expect(Object.keys(counts.value).length).toBeLessThanOrEqual(1);
  });

  it('are read from any id on, a page at a time, without gaps or repetitions', async () => {
    const storage = await open();
    const many = agent({
      name: 'many',
      async run(ctx) {
        for (let i = 0; i < 6; i++) {
          ctx.emit(`a${i}`);
          await ctx.step(`step ${i}`, ({ emit }) => emit(`b${i}`));
        }
      },
    });
    await (await testAgents(many, { storage }).start({}, { id: 'm' })).result();
    const operator = operatorOf(many, storage);
    const { events } = await operator.events('m');
    const ids = events.flatMap((event) => ('id' in event ? [event.id] : []));
    expect(new Set(ids).size).toBe(ids.length);
    for (const [i, id] of ids.entries())
      expect((await operator.events('m', { after: id })).events).toEqual(events.slice(i + 1));
    const paged: RunEvent[] = [];
    for (let after: string | undefined; ; ) {
      const page = await operator.events('m', { after, limit: 2 });
      paged.push(...page.events);
      after = page.cursor;
      if (page.hasEnded) break;
    }
    expect(paged).toEqual(events);
  });

  it('stay readable when the state is so large that it is stored as a payload', async () => {
    const storage = await open();
    const large = agent({
      name: 'large',
      state: { initial: () => ({ text: '' }) },
      async run(ctx) {
        for (let i = 0; i < 3; i++) {
          ctx.emit(`write ${i}`);
          await ctx.update((draft) => {
            draft.text = randomText(`${i}`);
          });
        }
      },
    });
    const run = await testAgents(large, { storage }).start({}, { id: 'l' });
    await run.expect({ status: 'SUCCEEDED' });
    const { events } = await operatorOf(large, storage).events('l');
    expect(dataOf(events)).toEqual(['write 0', 'write 1', 'write 2']);
    const { payloads } = storage;
    expect((await Array.fromAsync(payloads.list('default/l'))).length).toBeGreaterThan(0);
  });

  it('are encrypted if the run is, and so is live output', async () => {
    const storage = await open();
    const keys = localKeys({ current: 'k', keys: { k: new Uint8Array(32) } });
    const stored: string[] = [];
    const watched = interceptCommits(storage, async (writes, commit) => {
      for (const write of writes)
        if ('put' in write) stored.push(write.put.meta + Buffer.from(write.put.body ?? []).toString('latin1'));
      await commit();
    });
    const secret = agent({
      name: 'secret',
      async run(ctx) {
        ctx.emit('MARK-emitted');
        await ctx.step('stream', async ({ emit, stream }) => {
          emit('MARK-step');
          stream('MARK-output');
          await new Promise((resolve) => setTimeout(resolve, 500));
        });
      },
    });
    const run = await testAgents(secret, { storage: watched, keys }).start({}, { id: 's' });
    await run.expect({ status: 'SUCCEEDED' });
    expect(stored.length).toBeGreaterThan(4);
    expect(stored.filter((text) => text.includes('MARK'))).toEqual([]);
    expect(dataOf((await operatorOf(secret, storage, { keys }).events('s')).events)).toEqual([
      'MARK-emitted',
      'MARK-step',
    ]);
  });

  it('show the output of a running step, which a reader gets once', async () => {
    const storage = await open();
    const go = Promise.withResolvers<void>();
    const streaming = agent({
      name: 'streaming',
      run: (ctx) =>
        ctx.step('answer', async ({ stream }) => {
          for (const token of ['one ', 'two ', { tool: 'search' }, 'three']) stream(token);
          await go.promise;
          return 'one two three';
        }),
    });
    const operator = operatorOf(streaming, storage);
    const finished = testAgents(streaming, { storage }).start({}, { id: 'live' });
    const read = async (after?: string) => operator.events('live', { after, includeOutput: true });
    const outputs: unknown[] = [];
    let after: string | undefined;
    await expect
      .poll(async () => {
        const page = await read(after).catch(() => undefined);
        after = page?.cursor ?? after;
        outputs.push(...(page?.events.filter(({ type }) => type === 'output') ?? []));
        return outputs.length;
      })
      .toBe(1);
    expect(outputs).toEqual([
      { type: 'output', step: 'answer', attempt: 1, number: 0, output: ['one two ', { tool: 'search' }, 'three'] },
    ]);
    const again = await read(after);
    expect(again.events).toEqual([]);
    // A reader who only has the id of the last checkpoint gets the output since then.
    expect((await read('2')).events).toEqual(outputs);
    go.resolve();
    await (await finished).expect({ status: 'SUCCEEDED' });
    const page = await read(after);
    expect(page.events.map(({ type }) => type)).toEqual(['checkpoint', 'checkpoint']);
    expect(page.hasEnded).toBe(true);
  });
});

describe('ctx.emit', () => {
  const run = async (body: (ctx: AgentContext) => Promise<unknown>) =>
    testAgents(agent({ name: 'strict', run: body })).start({});

  it('refuses a value that cannot be stored, an event that is too large, and too many events', async () => {
    const refused: string[] = [];
    const started = await run(async (ctx) => {
      const attempt = (emit: () => void) => {
        try {
          emit();
        } catch (error) {
          refused.push((error as Error).message);
        }
      };
      attempt(() => ctx.emit(() => {}));
      attempt(() => ctx.emit('x'.repeat(20_000)));
      for (let i = 0; i < 101; i++) attempt(() => ctx.emit(i));
      await ctx.step('after', () => 1);
      for (let i = 0; i < 100; i++) attempt(() => ctx.emit(i));
    });
    await started.expect({ status: 'SUCCEEDED' });
    expect(refused).toHaveLength(3);
    expect(refused[0]).toContain('function');
    expect(refused[1]).toContain('16384 characters');
    expect(refused[2]).toContain('at most 100 events');
  });

  it('says inside a step which `emit` to use', async () => {
    const started = await run((ctx) => ctx.step('inner', () => ctx.emit('x'), { retry: { maxAttempts: 1 } }));
    await started.expect({ status: 'FAILED', error: /Use the `emit` that the step's function receives/ });
  });

  it('records the events of a failed attempt with that attempt', async () => {
    const storage = memoryStorage();
    const flaky = agent({
      name: 'flaky',
      run: (ctx) =>
        ctx.step('try', ({ emit, attempt }) => {
          emit(`attempt ${attempt}`);
          if (attempt < 3) throw new Error('busy');
        }),
    });
    await (await testAgents(flaky, { storage }).start({}, { id: 'f' })).result();
    const { events } = await operatorOf(flaky, storage).events('f');
    expect(dataOf(events)).toEqual(['attempt 1', 'attempt 2', 'attempt 3']);
  });

  it('ignores an event after the end of its step', async () => {
    const storage = memoryStorage();
    let late: ((event: unknown) => void) | undefined;
    const leaking = agent({
      name: 'leaking',
      async run(ctx) {
        await ctx.step('a', ({ emit }) => {
          late = emit;
        });
        late?.('too late');
        await ctx.step('b', () => 1);
      },
    });
    await (await testAgents(leaking, { storage }).start({}, { id: 'x' })).result();
    expect(dataOf((await operatorOf(leaking, storage).events('x')).events)).toEqual([]);
  });
});

describe('the events of a run', () => {
  it('refuse an invalid cursor, and name a run that does not exist', async () => {
    const storage = memoryStorage();
    const operator = operatorOf(agent({ name: 'any', run: async () => 1 }), storage);
    await expect(operator.events('gone')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    for (const after of ['x', '1.x', '-1', '1~2', '99999999999', ' 1'])
      await expect(operator.events('gone', { after })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('continue after a rewind, which is an event too', async () => {
    const storage = memoryStorage();
    const steps = agent({
      name: 'steps',
      async run(ctx) {
        for (const name of ['a', 'b']) {
          await ctx.step(name, () => 1);
          ctx.emit(`did ${name}`);
        }
      },
    });
    const world = testAgents(steps, { storage });
    const run = await world.start({}, { id: 'r' });
    await run.result();
    const operator = operatorOf(steps, storage);
    const before = await operator.events('r');
    await run.rewind(3);
    await run.result();
    const { events } = await operator.events('r', { after: before.cursor });
    expect(events[0]).toMatchObject({ type: 'checkpoint', checkpoint: { kind: 'rewind' } });
    expect(dataOf(events)).toEqual(['did a', 'did b']);
  });
});
