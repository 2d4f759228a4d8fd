import { setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { testAgents } from '../../lambda/testing.ts';
import { randomFrom } from '../faults/seeded.ts';

interface Notes {
  n: number;
  list: string[];
}

const stateful = <T>(run: (ctx: AgentContext<Notes>) => Promise<T>) =>
  agent({ name: 'stateful', state: { initial: (): Notes => ({ n: 0, list: [] }) }, run });

async function ticks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await tick();
}

describe('the state', () => {
  it('has at each point of a replay the value of that point', async () => {
    const seen: number[][] = [];
    const world = testAgents(
      stateful(async (ctx) => {
        const own = [ctx.state.n];
        seen.push(own);
        for (let i = 1; i <= 4; i++) {
          await ctx.step(`step ${i}`, () => i);
          own.push(ctx.state.n);
          const after = await ctx.update((draft) => {
            draft.n += i;
          });
          own.push(after.n, ctx.state.n);
        }
        return own;
      }),
    );
    for (let i = 1; i <= 4; i++) world.crash({ after: `step ${i}` });
    const run = await world.start({});
    const whole = [0, 0, 1, 1, 1, 3, 3, 3, 6, 6, 6, 10, 10];
    expect(await run.result()).toEqual(whole);
    expect(seen).toHaveLength(5);
    for (const own of seen) expect(own).toEqual(whole.slice(0, own.length));
  });

  it('drives a loop to the same result, wherever it crashes', async () => {
    for (let at = 1; at <= 5; at++) {
      const calls: number[] = [];
      const world = testAgents(
        stateful(async (ctx) => {
          while (ctx.state.n < 5) {
            const n = ctx.state.n;
            await ctx.step('work', () => void calls.push(n));
            await ctx.update((draft) => {
              draft.n += 1;
            });
          }
          return ctx.state.n;
        }),
      );
      const step = at === 1 ? 'work' : `work#${at}`;
      world.crash({ recorded: step });
      world.crash({ before: step });
      expect(await (await world.start({})).result()).toBe(5);
      expect(calls).toEqual([0, 1, 2, 3, 4]);
    }
  });

  it('has the value of that point when only updates were recorded before a crash', async () => {
    const ways: string[] = [];
    const world = testAgents(
      stateful(async (ctx) => {
        await ctx.update((draft) => {
          draft.n += 1;
        });
        ways.push(`after one: ${ctx.state.n}`);
        await ctx.update((draft) => {
          draft.n += 1;
        });
        ways.push(`after two: ${ctx.state.n}`);
        return ctx.step('work', () => 'done');
      }),
    );
    world.crash({ before: 'work' });
    expect(await (await world.start({})).result()).toBe('done');
    expect(ways).toEqual(['after one: 1', 'after two: 2', 'after one: 1', 'after two: 2']);
  });

  it('is saved in the checkpoint of its change, and frozen', async () => {
    const world = testAgents(
      stateful(async (ctx) => {
        await ctx.update((draft) => void draft.list.push('a'));
        await ctx.step('work', () => 1);
        await ctx.update(() => ({ n: 7, list: ['replaced'] }));
        return Object.isFrozen(ctx.state) && Object.isFrozen(ctx.state.list);
      }),
    );
    const run = await world.start({});
    expect(await run.result()).toBe(true);
    const states = (await run.checkpoints()).map(({ state }) => state as Notes | undefined);
    const changes = states.filter((state, i) => JSON.stringify(state) !== JSON.stringify(states[i - 1]));
    expect(changes).toEqual([
      { n: 0, list: [] },
      { n: 0, list: ['a'] },
      { n: 7, list: ['replaced'] },
    ]);
  });

  it('keeps every update of parallel branches', async () => {
    const world = testAgents(
      stateful(async (ctx) => {
        await ctx.map('count', Array(20).fill(1), (branch) =>
          branch.update((draft) => {
            draft.n += 1;
          }),
        );
        await ctx.step('later', () => 1);
        return ctx.state.n;
      }),
    );
    world.crash({ after: 'later' });
    expect(await (await world.start({})).result()).toBe(20);
  });

  it('applies the updates of parallel branches in their original order in every replay', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = randomFrom(seed);
      const seen: (readonly string[])[] = [];
      const world = testAgents(
        stateful(async (ctx) => {
          await ctx.map('notes', ['a', 'b', 'c', 'd'], async (branch, name) => {
            await branch.step('work', () => ticks(Math.floor(random() * 10)));
            await branch.update((draft) => void draft.list.push(name));
            await branch.step('more', () => ticks(Math.floor(random() * 10)));
            await branch.update((draft) => void draft.list.push(name.toUpperCase()));
          });
          seen.push(ctx.state.list);
          await ctx.step('later', () => 1);
          return ctx.state.list;
        }),
      );
      world.crash({ after: 'later', times: 2 });
      const run = await world.start({});
      const final = await run.result();
      expect(seen, `seed ${seed}`).toEqual([final, final, final]);
      expect(final.toSorted()).toEqual(['A', 'B', 'C', 'D', 'a', 'b', 'c', 'd']);
    }
  });

  it('includes the updates of an abandoned branch in a replay', async () => {
    const seen: (readonly string[])[] = [];
    const world = testAgents(
      stateful(async (ctx) => {
        await ctx.all(
          'race',
          [
            async (branch) => {
              await branch.update((draft) => void draft.list.push('left'));
              await branch.waitForSignal('never');
            },
            (branch) => branch.step('fast', () => ticks(10)),
          ],
          { minSuccessful: 1 },
        );
        seen.push(ctx.state.list);
        await ctx.step('later', () => 1);
      }),
    );
    world.crash({ after: 'later' });
    await world.start({});
    expect(seen).toEqual([['left'], ['left']]);
  });

  it('keeps both the changes of an operator during a step and those of the agent', async () => {
    const world = testAgents(
      stateful(async (ctx) => {
        await ctx.step('work', () =>
          world.agent.store.update(ctx.run, (draft) => {
            draft.list.push('operator');
          }),
        );
        await ctx.update((draft) => {
          draft.list.push('agent');
          draft.n += 1;
        });
        return ctx.state;
      }),
    );
    world.crash({ after: 'work' });
    const run = await world.start({});
    expect(await run.result()).toEqual({ n: 1, list: ['operator', 'operator', 'agent'] });
  });

  it('shows after a wait the changes that an operator made meanwhile', async () => {
    const world = testAgents(
      stateful(async (ctx) => {
        await ctx.sleep('long', { hours: 1 });
        return ctx.state.list;
      }),
    );
    const run = await world.start({});
    await world.agent.store.update(run.id, (draft) => void draft.list.push('operator'));
    expect(await run.status()).toBe('SLEEPING');
    await world.skip({ hours: 2 });
    expect(await run.result()).toEqual(['operator']);
  });
});

describe('an update', () => {
  it('can throw: the agent can catch the error, the state does not change, and a replay throws again', async () => {
    const caught: string[] = [];
    const world = testAgents(
      stateful(async (ctx) => {
        try {
          await ctx.update((draft) => {
            draft.n = 99;
            throw new RangeError('no more');
          });
        } catch (error) {
          caught.push(`${(error as Error).name}: ${(error as Error).message}`);
        }
        await ctx.update((draft) => {
          draft.n += 1;
        });
        await ctx.step('later', () => 1);
        return ctx.state.n;
      }),
    );
    world.crash({ after: 'later' });
    const run = await world.start({});
    expect(await run.result()).toBe(1);
    expect(caught).toEqual(['RangeError: no more', 'RangeError: no more']);
    expect(world.invocations.map(({ end }) => end)).toEqual(['failed', 'finished']);
  });

  it('is rejected with the path of a value that cannot be stored, and the state does not change', async () => {
    const world = testAgents(
      stateful(async (ctx) => {
        const edit = (draft: Notes) => void Object.assign(draft, { deep: { run: () => 1 } });
        const refusal = await ctx.update(edit).catch((error: Error) => error.message);
        await ctx.step('later', () => 1);
        return { refusal, state: ctx.state };
      }),
    );
    world.crash({ after: 'later' });
    const run = await world.start({});
    expect(await run.result()).toEqual({
      refusal: expect.stringMatching(/state\.deep\.run is a function/),
      state: { n: 0, list: [] },
    });
  });

  it('cannot call the context', async () => {
    const world = testAgents(
      stateful((ctx) =>
        ctx.update((async (draft: Notes) => {
          draft.n = await ctx.step('inside', () => 1);
        }) as never),
      ),
      { functionTimeout: { minutes: 1 } },
    );
    const run = await world.start({});
    expect(await run.status()).toBe('FAILED');
    await expect(run.result()).rejects.toThrow(/`ctx\.step` was called inside .*update/);
  });

  it('needs a state', async () => {
    const stateless = agent({
      name: 'stateless',
      async run(ctx) {
        const before = ctx.state;
        const refusal = await ctx.update(() => {}).catch((error: Error) => error.message);
        return { before, refusal };
      },
    });
    const run = await testAgents(stateless).start({});
    expect(await run.result()).toEqual({ before: undefined, refusal: expect.stringMatching(/Define `state/) });
  });
});

describe('a write to a frozen value', () => {
  const writes: readonly (readonly [string, (state: Notes, input: { to: string }) => unknown])[] = [
    ['sets a field', (state) => Object.assign(state, { n: 1 })],
    ['adds a field', (state) => Object.assign(state, { more: 1 })],
    ['deletes a field', (state) => delete (state as Partial<Notes>).n],
    ['redefines a field', (state) => Object.defineProperty(state, 'n', { value: 1 })],
    ['pushes to an array', (state) => state.list.push('b')],
    ['pops from an array', (state) => state.list.pop()],
    ['sorts an array', (state) => state.list.sort()],
    ['empties an array', (state) => (state.list.length = 0)],
    ['sets a field of the input', (_, input) => Object.assign(input, { to: 'here' })],
  ];
  const message =
    /frozen value: Cannot .+\. `ctx\.state`, .+ are frozen: copy the value first, or .+ `ctx\.update`\.$/m;
  const initial = (): Notes => ({ n: 0, list: ['b', 'a'] });

  it.each(writes)('fails the run, with the advice to copy the value, when it %s', async (_, write) => {
    const world = testAgents(
      agent({
        name: 'writing',
        state: { initial },
        run: (ctx, input: { to: string }) => void write(ctx.state, input),
      }),
    );
    const run = await world.start({ to: 'there' });
    await expect(run.result()).rejects.toMatchObject({
      code: 'RUN_FAILED',
      cause: { code: 'AGENT_MISUSED', message: expect.stringMatching(message), cause: { name: 'TypeError' } },
    });
    expect(world.invocations).toEqual([{ end: 'finished', status: 'FAILED' }]);
  });

  it('shows the line of the write in its stack', async () => {
    const run = await testAgents(stateful(async (ctx) => addNote(ctx.state))).start({});
    const { cause } = await run.result().then(
      () => undefined as never,
      (error: Error & { cause: Error }) => error,
    );
    expect(cause.stack).toMatch(
      /^WaitstateError: The code tried to change a frozen value: .*\n +at (\S+\.)?push.*\n? +at addNote/s,
    );
  });

  it('is not retried in a step, and the agent can catch it there', async () => {
    let calls = 0;
    const world = testAgents(
      stateful(async (ctx) => {
        const step = ctx.step('write', () => {
          calls += 1;
          addNote(ctx.state);
        });
        return step.catch((error: Error & { code?: string }) => `${error.code}: ${error.message}`);
      }),
    );
    expect(await (await world.start({})).result()).toMatch(/^AGENT_MISUSED: The code tried to change a frozen value/);
    expect(calls).toBe(1);
  });

  it('fails the run in a turn, also after an update of the turn', async () => {
    for (const updatesFirst of [false, true]) {
      const world = testAgents(
        agent({
          name: 'turning',
          state: { initial },
          async turn(ctx) {
            if (updatesFirst) await ctx.update((draft) => void draft.list.push('b'));
            addNote(ctx.state);
            return ctx.done(ctx.state.list);
          },
        }),
      );
      await expect((await world.start({})).result()).rejects.toThrow(message);
    }
  });

  it('leaves other type errors as they are', async () => {
    const run = await testAgents(stateful(async () => Object(undefined).name.length)).start({});
    await expect(run.result()).rejects.toMatchObject({ cause: { name: 'TypeError', message: /undefined/ } });
  });
});

function addNote({ list }: Notes): void {
  list.push('more');
}
