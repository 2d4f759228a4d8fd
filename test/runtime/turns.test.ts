import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { StandardSchema } from '../../lambda/runtime/definition/standard-schema.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import { randomFrom } from '../faults/seeded.ts';
import { counted } from './storages.ts';

const ONCE = { retry: { maxAttempts: 1 } };

const numbers: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'by hand',
    validate: (value) => (typeof value === 'number' ? { value } : { issues: [{ message: 'a number, please' }] }),
  },
};

describe('turns', () => {
  it('resume from the saved state, and call nothing of earlier turns', async () => {
    const calls: string[] = [];
    const started: number[] = [];
    const chat = agent({
      name: 'chat',
      state: { initial: (input: { first: string }) => ({ messages: [input.first] }) },
      async turn(ctx, state) {
        started.push(state.messages.length);
        const text = (await ctx.waitForSignal('message')) as string;
        if (text === 'bye') return ctx.done(state.messages);
        const answer = await ctx.step('answer', () => {
          calls.push(text);
          return `re: ${text}`;
        });
        return { messages: [...state.messages, text, answer] };
      },
    });
    const world = testAgents(chat);
    const run = await world.start({ first: 'hello' });
    for (const text of ['one', 'two', 'three']) {
      expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
      started.length = 0;
      await run.signal('message', text);
      // The turn that waited starts again, and then the next.
      const [first, ...others] = started;
      expect(others).toEqual([Number(first) + 2]);
    }
    await run.signal('message', 'bye');
    expect(await run.result()).toEqual(['hello', 'one', 're: one', 'two', 're: two', 'three', 're: three']);
    expect(calls).toEqual(['one', 'two', 'three']);
  });

  it('keep the steps of an unfinished turn until it ends', async () => {
    const calls: string[] = [];
    const working = agent({
      name: 'working',
      state: { initial: () => ({ turn: 0 }) },
      async turn(ctx, state) {
        for (const name of ['plan', 'act', 'look'])
          await ctx.step(name, () => void calls.push(`${state.turn} ${name}`));
        await ctx.update((draft) => {
          draft.turn += 1;
        });
        return ctx.state.turn === 3 ? ctx.done(ctx.state.turn) : undefined;
      },
    });
    const world = testAgents(working);
    for (const turn of [1, 2, 3]) {
      world.crash({ before: `turn ${turn}/act` });
      world.crash({ recorded: `turn ${turn}/look` });
    }
    const run = await world.start({});
    expect(await run.result()).toBe(3);
    expect(calls).toEqual([0, 1, 2].flatMap((turn) => ['plan', 'act', 'look'].map((name) => `${turn} ${name}`)));
    const checkpoints = await run.checkpoints();
    for (const { toolResults } of checkpoints) {
      const turns = Object.keys(toolResults).filter((id) => id.startsWith('turn '));
      expect(turns.length).toBeLessThanOrEqual(3);
      expect(new Set(turns.map((id) => id.split('/')[0])).size).toBeLessThanOrEqual(1);
    }
    expect(Object.keys(checkpoints.at(-1)?.toolResults ?? {}).filter((id) => !id.startsWith('@'))).toEqual([]);
    expect(checkpoints.filter(({ step }) => step === 'turn 2').map(({ state }) => state)).toEqual([{ turn: 2 }]);
  });

  it('end with the same result after 200 turns, with crashes anywhere', async () => {
    const random = randomFrom(200);
    const done = new Map<number, number>();
    const long = agent({
      name: 'long',
      state: { initial: () => ({ sum: 0, turns: 0 }) },
      async turn(ctx, state) {
        if (state.turns === 200) return ctx.done(state.sum);
        const value = await ctx.step('work', () => {
          done.set(state.turns, (done.get(state.turns) ?? 0) + 1);
          return state.turns;
        });
        return { sum: state.sum + value, turns: state.turns + 1 };
      },
    });
    const world = testAgents(long);
    const crashed = new Set<number>();
    for (let i = 0; i < 20; i++) {
      const turn = 1 + Math.floor(random() * 200);
      const moment = (['before', 'recorded'] as const)[Math.floor(random() * 2)] ?? 'before';
      crashed.add(turn);
      world.crash({ [moment]: `turn ${turn}/work` });
    }
    const run = await world.start({});
    expect(await run.result()).toBe(19_900);
    expect([...done.values()]).toEqual(Array(200).fill(1));
    expect(world.invocations.filter(({ end }) => end === 'failed').length).toBeGreaterThanOrEqual(crashed.size);
  });

  it('save a state that is updated, returned or unchanged, and work without a state', async () => {
    let stateless = 0;
    const without = agent({
      name: 'without',
      async turn(ctx) {
        stateless += 1;
        return stateless === 3 ? ctx.done('third') : undefined;
      },
    });
    expect(await (await testAgents(without).start({})).result()).toBe('third');
    const seen: unknown[] = [];
    const mixed = agent({
      name: 'mixed',
      state: { initial: () => ({ n: 0 }) },
      async turn(ctx, state) {
        seen.push(state);
        if (state.n === 0) return { n: 1 };
        if (state.n === 1) return void (await ctx.update(() => ({ n: 2 })));
        if (seen.length === 3) return undefined;
        await ctx.update((draft) => {
          draft.n = 3;
        });
        return ctx.done({ ...ctx.state });
      },
    });
    const run = await testAgents(mixed).start({});
    expect(await run.result()).toEqual({ n: 3 });
    expect(seen).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }, { n: 2 }]);
    expect((await run.checkpoints()).at(-1)?.state).toEqual({ n: 3 });
  });

  it('end with the state that `ctx.done` gets, in the checkpoint of the result and without another write', async () => {
    const ending = (keepsState: boolean) =>
      agent({
        name: 'ending',
        state: { version: 2, migrations: { 1: (state) => state }, initial: () => ({ messages: ['hello'] }) },
        async turn(ctx, { messages }) {
          await ctx.update((draft) => void draft.messages.push('lost'));
          const answer = await ctx.step('answer', () => 'bye');
          return keepsState ? ctx.done(answer, { messages: [...messages, answer] }) : ctx.done(answer);
        },
      });
    const ends = [];
    for (const keepsState of [true, false]) {
      const { storage, calls } = counted(memoryStorage());
      const run = await testAgents(ending(keepsState), { storage }).start({});
      expect(await run.result()).toBe('bye');
      const { version, status, state, toolResults, schema } = (await run.checkpoints()).at(-1) ?? {};
      expect({ status, state, result: toolResults?.['@result'], schema }).toMatchObject({
        status: 'SUCCEEDED',
        state: { messages: keepsState ? ['hello', 'bye'] : ['hello', 'lost'] },
        result: { value: 'bye' },
        schema: 2,
      });
      ends.push({ version, commits: calls.commit });
    }
    expect(ends[0]).toEqual(ends[1]);
  });

  it('fail the run when the state that `ctx.done` gets cannot be stored', async () => {
    const odd = agent({
      name: 'odd',
      state: { initial: () => ({ extra: undefined as unknown }) },
      turn: (ctx) => ctx.done('done', { extra: [() => 1] }),
    });
    const run = await testAgents(odd).start({});
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow(/state\.extra\[0\] is a function/);
  });

  it('keep every update of parallel branches except those that throw', async () => {
    const parallel = agent({
      name: 'parallel',
      state: { initial: () => ({ n: 0 }) },
      async turn(ctx) {
        await ctx.map('count', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], async (branch, i) => {
          const updated = branch.update((draft) => {
            draft.n += 1;
            if (i === 5) throw new Error('not this one');
          });
          await updated.catch(() => {});
        });
        return ctx.done(ctx.state.n);
      },
    });
    expect(await (await testAgents(parallel).start({})).result()).toBe(9);
  });

  it('fail the run when a state cannot be stored, even the last one, and a retry runs the turn again', async () => {
    for (const last of [false, true]) {
      let broken = true;
      const calls: number[] = [];
      const unsavable = agent({
        name: 'unsavable',
        state: { initial: () => ({ n: 0, extra: undefined as unknown }) },
        async turn(ctx, state) {
          await ctx.step('work', () => void calls.push(state.n));
          await ctx.update((draft) => {
            draft.n += 1;
            draft.extra = broken && draft.n === 2 ? { deep: [() => 1] } : undefined;
          });
          return last && ctx.state.n >= 2 ? ctx.done('done') : ctx.state.n >= 3 ? ctx.done('done') : undefined;
        },
      });
      const run = await testAgents(unsavable).start({});
      expect(await run.status()).toBe('FAILED');
      await expect(run.result()).rejects.toThrow(/state\.extra\.deep\[0\] is a function/);
      broken = false;
      await run.retry();
      expect(await run.result()).toBe('done');
      expect(calls).toEqual(last ? [0, 1] : [0, 1, 2]);
    }
  });

  it('fail the run with the path of a result that cannot be stored', async () => {
    const odd = agent({
      name: 'odd',
      async turn(ctx) {
        return ctx.done({ at: { run: () => 1 } });
      },
    });
    const run = await testAgents(odd).start({});
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow(/at\.run is a function/);
  });

  it('fail the run when their result is invalid, even when the state cannot be stored, and a retry runs the turn again', async () => {
    for (const extra of [undefined, () => 1]) {
      let broken = true;
      const calls: number[] = [];
      const refused = agent({
        name: 'refused',
        state: { initial: () => ({ n: 0, extra: undefined as unknown }) },
        result: numbers,
        async turn(ctx, state) {
          await ctx.step('work', () => void calls.push(state.n));
          await ctx.update((draft) => ({ n: draft.n + 1, extra: broken ? extra : undefined }));
          return ctx.done(broken ? 'none' : ctx.state.n);
        },
      });
      const run = await testAgents(refused).start({});
      expect(await run.status()).toBe('FAILED');
      await expect(run.result()).rejects.toThrow(/a number, please/);
      broken = false;
      await run.retry();
      expect(await run.result()).toBe(1);
      expect(calls).toEqual([0]);
    }
  });

  it('undo the steps of earlier turns by the table of the agent, in reverse order, also after a crash', async () => {
    const undone: string[] = [];
    const booking = agent({
      name: 'booking',
      state: { initial: () => ({ n: 0 }) },
      async turn(ctx, state) {
        await ctx.step('book', () => `seat ${state.n}`);
        await ctx.step('note', () => 'nothing to undo');
        if (state.n === 3) await ctx.step('fail', () => Promise.reject(new Error('sold out')), ONCE);
        return { n: state.n + 1 };
      },
      undo: { book: (seat: string) => void undone.push(seat) },
    });
    const world = testAgents(booking);
    world.crash({ before: '@undo:turn 2/book' });
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow(/sold out/);
    expect(undone).toEqual(['seat 3', 'seat 2', 'seat 1', 'seat 0']);
  });

  it('reject an `undo` option of a step, whose closure would not outlive the turn', async () => {
    const closing = agent({
      name: 'closing',
      async turn(ctx) {
        await ctx.step('book', () => 1, { undo: () => {} });
      },
    });
    const run = await testAgents(closing).start({});
    await expect(run.result()).rejects.toThrow(/Step "book" has an `undo`.*`undo: \{ 'book': … \}`/);
  });
});
