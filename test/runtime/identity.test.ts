import { setTimeout as realTime, setImmediate as tick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import { randomFrom } from '../faults/seeded.ts';

/** The operation ids that a run has recorded, without those of the runtime. */
const operationIds = async (run: { checkpoints(): Promise<readonly { toolResults: object }[]> }): Promise<string[]> =>
  Object.keys((await run.checkpoints()).at(-1)?.toolResults ?? {})
    .filter((id) => !id.startsWith('@'))
    .toSorted();

const running = (run: (ctx: AgentContext) => Promise<unknown>) => agent({ name: 'identified', run });

describe('operations that race each other', () => {
  it('complete in the same order in every replay', async () => {
    const world = testAgents(
      running(async (ctx) => {
        const first = await Promise.race([
          ctx.sleep('day', { days: 1 }).then(() => 'time'),
          ctx.waitForSignal('go').then(() => 'signal'),
        ]);
        await ctx.sleep('later', { days: 3 });
        return first;
      }),
    );
    const run = await world.start({});
    await run.signal('go');
    await world.skip({ days: 4 });
    expect(await run.result()).toBe('signal');
  });

  it('complete in the order of their records, even when their results arrived together', async () => {
    const winners: string[] = [];
    const world = testAgents(
      running(async (ctx) => {
        const names = ['a', 'b', 'c', 'd'];
        const steps = names.map((name, i) => ctx.step(name, () => realTime((4 - i) * 3)).then(() => name));
        winners.push(await Promise.race(steps));
        await Promise.all(steps);
        await ctx.sleep('later', { days: 3 });
        return winners;
      }),
    );
    const run = await world.start({});
    await world.skip({ days: 3 });
    await run.result();
    expect(winners).toHaveLength(2);
    expect(new Set(winners).size).toBe(1);
  });
});

describe('operation names', () => {
  it('are numbered when repeated, and distinguished by keys', async () => {
    const run = await testAgents(
      running(async (ctx) => {
        await ctx.step('search', () => 1);
        await ctx.step('search', () => 2);
        await ctx.step('search', () => 3, { key: 'paris' });
        await ctx.step('search', () => 4, { key: 'paris' });
        await ctx.tool('search', {}, () => 5, { callId: 'call_1' });
        await ctx.map('trips', ['a', 'b'], async (branch) => {
          await branch.step('search', () => 6);
          await branch.step('search', () => 7);
        });
      }),
    ).start({});
    expect(await operationIds(run)).toEqual([
      'search',
      'search#2',
      'search:call_1',
      'search:paris',
      'search:paris#2',
      'trips[0]/search',
      'trips[0]/search#2',
      'trips[1]/search',
      'trips[1]/search#2',
    ]);
  });

  it('never collide, whatever characters they have', async () => {
    const names = [
      ...['a', 'a#2', 'a:b', 'a:b#2', 'a[0]/b', 'a[0]', '@a', '@input', '@update', 'a/b', 'a%2Fb', 'a%', '%', '~'],
      ...[
        '$',
        '$a',
        '__proto__',
        'constructor',
        'toString',
        ' ',
        'ä',
        'a\u0308',
        '名前',
        '🛫',
        'a\nb',
        'turn 1/a',
        '"',
      ],
    ];
    const keyed = [
      ['a', 'b'],
      ['a', '#2'],
      ['a', 'x'.repeat(500)],
      ['a', 'x'.repeat(501)],
      ['a', '~'],
      ['[', ']'],
    ] as const;
    const seen: string[][] = [];
    const world = testAgents(
      running(async (ctx) => {
        const results: string[] = [];
        for (const name of names) results.push(await ctx.step(name, () => `step ${name}`));
        results.push(await ctx.step('a', () => 'the second a'));
        for (const [name, key] of keyed) results.push(await ctx.step(name, () => `step ${name} key ${key}`, { key }));
        results.push(...(await ctx.map('a', ['one'], (branch) => branch.step('b', () => 'in a branch'))));
        seen.push(results);
        await ctx.step('later', () => 1);
      }),
    );
    world.crash({ after: 'later' });
    const run = await world.start({});
    expect(await run.status()).toBe('SUCCEEDED');
    expect(seen[0]).toEqual([
      ...names.map((name) => `step ${name}`),
      'the second a',
      ...keyed.map(([name, key]) => `step ${name} key ${key}`),
      'in a branch',
    ]);
    expect(seen[1]).toEqual(seen[0]);
    expect(new Set(seen[0]).size).toBe(seen[0]?.length);
  });

  it('are rejected when they are invalid', async () => {
    for (const name of ['', 'x'.repeat(201), '\ud800', 7, null, undefined]) {
      const run = await testAgents(running((ctx) => ctx.step(name as string, () => 1))).start({});
      expect(await run.status()).toBe('FAILED');
      await expect(run.result()).rejects.toThrow(/The name of an operation/);
    }
    const keyed = await testAgents(running((ctx) => ctx.step('a', () => 1, { key: '' }))).start({});
    await expect(keyed.result()).rejects.toThrow(/The `key` of an operation/);
  });

  it('match the undo table in turns, whatever characters they have', async () => {
    const undone: string[] = [];
    const name = 'book 100%: a/b #1 [ß]';
    const odd = agent({
      name: 'odd',
      async turn(ctx) {
        await ctx.step(name, () => 'booked');
        await ctx.step('fail', () => Promise.reject(new Error('no')), { retry: { maxAttempts: 1 } });
      },
      undo: { [name]: (result: string) => void undone.push(result) },
    });
    const run = await testAgents(odd).start({});
    expect(await run.status()).toBe('FAILED');
    expect(undone).toEqual(['booked']);
  });
});

describe('two concurrent operations of one name', () => {
  it('fail the run with a message that says what to do', async () => {
    const run = await testAgents(
      running((ctx) => Promise.all([ctx.step('search', () => 1), ctx.step('search', () => 2)])),
    ).start({});
    expect(await run.status()).toBe('FAILED');
    const failure = await run.result().catch((error: Error) => error);
    expect(failure).toMatchObject({ cause: { code: 'AGENT_MISUSED' } });
    expect(String(failure)).toMatch(/Two operations named "search" are outstanding at once.*`key`.*`ctx\.map`/);
  });

  it('are distinguished by keys and by call ids', async () => {
    const run = await testAgents(
      running((ctx) =>
        Promise.all([
          ctx.step('search', () => 1, { key: 'a' }),
          ctx.step('search', () => 2, { key: 'b' }),
          ctx.tool('search', {}, () => 3, { callId: 'c' }),
          ctx.step('search', () => 4),
        ]),
      ),
    ).start({});
    expect(await run.result()).toEqual([1, 2, 3, 4]);
  });

  it('are allowed in sequence, even when the first one failed', async () => {
    const run = await testAgents(
      running(async (ctx) => {
        const once = { retry: { maxAttempts: 1 } };
        await ctx.step('search', () => Promise.reject(new Error('no')), once).catch(() => {});
        return ctx.step('search', () => 2);
      }),
    ).start({});
    expect(await run.result()).toBe(2);
  });
});

describe('operation ids in branches', () => {
  it('never depend on timing: every interleaving gives the same results, even with crashes', async () => {
    const expected = [0, 1, 2, 3].map((n) => [`${n}.0`, `${n}.1`, `${n}.2`, `${n}.x`, `${n}.y`]);
    let identities: string[] | undefined;
    for (let seed = 1; seed <= 40; seed++) {
      const random = randomFrom(seed);
      const called: string[] = [];
      const slowly = async (value: string) => {
        for (let left = Math.floor(random() * 12); left > 0; left--) await tick();
        called.push(value);
        return value;
      };
      const interleaved = running((ctx) =>
        ctx.map('outer', [0, 1, 2, 3], async (branch, n) => {
          const own: string[] = [];
          for (let i = 0; i < 3; i++) own.push(await branch.step('search', () => slowly(`${n}.${i}`)));
          const inner = await branch.all('inner', {
            x: (leaf) => leaf.step('search', () => slowly(`${n}.x`)),
            y: (leaf) => leaf.tool('search', { n }, () => slowly(`${n}.y`)),
          });
          return [...own, inner.x, inner.y];
        }),
      );
      const world = testAgents(interleaved);
      const moment = (['before', 'after', 'recorded'] as const)[Math.floor(random() * 3)] ?? 'after';
      const branch = Math.floor(random() * 4);
      world.crash({ [moment]: `outer[${branch}]/search#${2 + Math.floor(random() * 2)}` });
      world.crash({ after: `outer[${3 - branch}]/inner[1]/search` });
      const run = await world.start({}, { id: 'r' });
      expect(await run.result(), `seed ${seed}`).toEqual(expected);
      identities ??= await operationIds(run);
      expect(await operationIds(run), `seed ${seed}`).toEqual(identities);
      expect(new Set(called).size, `seed ${seed}`).toBe(20);
    }
    expect(identities).toHaveLength(20);
  });
});

describe('code that does not match the journal of a run', () => {
  /** A run that starts on some code, resumes on other code, and then on the first code again. */
  async function redeployed(
    before: (ctx: AgentContext) => Promise<unknown>,
    after: (ctx: AgentContext) => Promise<unknown>,
  ) {
    const storage = memoryStorage();
    const old = testAgents(running(before), { storage });
    const { id } = await old.start({}, { id: 'r' });
    const changed = testAgents(running(after), { storage, now: new Date('2026-01-02T00:00:00Z') });
    await changed.settle();
    const failed = changed.run(id);
    const restored = testAgents(running(before), { storage, now: new Date('2026-01-03T00:00:00Z') });
    return { failed, restored, id };
  }

  const undone: string[] = [];
  const original = async (ctx: AgentContext) => {
    const found = await ctx.tool('find', { city: 'Paris' }, () => 'found', { undo: () => void undone.push('find') });
    await ctx.sleep('wait', { hours: 1 });
    return ctx.step('use', () => `${found}, used`);
  };

  const wait = async (ctx: AgentContext) => {
    await ctx.sleep('wait', { hours: 1 });
    return ctx.step('use', () => 'not to be run');
  };

  it.each([
    {
      what: 'an operation of another kind',
      code: async (ctx: AgentContext) => {
        await ctx.step('find', () => 'other');
        return wait(ctx);
      },
      says: /Operation "find" is a step in this code, but a tool was recorded/,
    },
    {
      what: 'a tool with other arguments',
      code: async (ctx: AgentContext) => {
        await ctx.tool('find', { city: 'Rome' }, () => 'other');
        return wait(ctx);
      },
      says: /Operation "find" has arguments with hash \S+ in this code, but \S+ was recorded/,
    },
    {
      what: 'a wait for a signal instead of a sleep',
      code: async (ctx: AgentContext) => {
        await ctx.tool('find', { city: 'Paris' }, () => 'other');
        await ctx.waitForSignal('wait');
      },
      says: /Operation "wait" is a signal in this code, but a sleep was recorded/,
    },
    {
      what: 'branches instead of a tool',
      code: async (ctx: AgentContext) => {
        await ctx.map('find', [1], () => Promise.reject(new Error('no')));
      },
      says: /Operation "find" is a branches in this code, but a tool was recorded/,
    },
  ])('fails the run when it has $what, undoes nothing, and resumes on the original code', async (given) => {
    undone.length = 0;
    const { failed, restored, id } = await redeployed(original, given.code);
    expect(await failed.status()).toBe('FAILED');
    const error = await failed.result().catch((lost: Error) => lost);
    expect(error).toMatchObject({ cause: { code: 'STEP_MISMATCH' } });
    expect(String(error)).toMatch(given.says);
    expect(undone).toEqual([]);
    const run = restored.run(id);
    await run.retry();
    await restored.skip({ hours: 2 });
    expect(await run.result()).toBe('found, used');
  });

  it('fails the run when a cached call has the id of a step, instead of using the cached value', async () => {
    const price = (ctx: AgentContext) => ctx.tool('price', {}, () => 5, { cache: true });
    const { failed } = await redeployed(
      async (ctx) => {
        await price(ctx);
        await ctx.step('price', () => 6);
        await ctx.sleep('wait', { hours: 1 });
      },
      async (ctx) => {
        await price(ctx);
        await price(ctx);
        await ctx.sleep('wait', { hours: 1 });
      },
    );
    await expect(failed.result()).rejects.toThrow(
      'Operation "price#2" is a tool in this code, but a step was recorded',
    );
  });

  it('fails the run even if the agent catches the error', async () => {
    const { failed } = await redeployed(original, async (ctx) => {
      await ctx.step('find', () => 'other').catch(() => 'caught');
      return 'went on';
    });
    expect(await failed.status()).toBe('FAILED');
    await expect(failed.result()).rejects.toMatchObject({ cause: { code: 'STEP_MISMATCH' } });
  });

  it('fails the run on an operation with another name than the recorded one, also after a retry, but not after a rewind', async () => {
    const { failed, id } = await redeployed(original, async (ctx) => {
      const found = await ctx.tool('find anew', { city: 'Paris' }, () => 'found anew');
      await ctx.sleep('wait', { hours: 1 });
      return found;
    });
    expect(await failed.status()).toBe('FAILED');
    const error = await failed.result().catch((lost: Error) => lost);
    expect(String(error)).toMatch(
      /Operation "find anew" comes next in this code, but "find" comes next in the journal/,
    );
    expect(failed.id).toBe(id);
    await failed.retry();
    expect(await failed.status()).toBe('FAILED');
    await failed.rewind(1);
    expect(await failed.status()).toBe('SLEEPING');
  });

  it('can leave out a recorded operation if it still calls a later one', async () => {
    const { failed: changed } = await redeployed(original, async (ctx) => {
      await ctx.sleep('wait', { hours: 1 });
      return ctx.step('new', () => 'went on');
    });
    expect(await changed.result()).toBe('went on');
  });

  it('fails the run when counted branches no longer exist', async () => {
    const branching = (count: number) => async (ctx: AgentContext) => {
      await ctx.map('trips', Array(count).fill(0), (branch, _, i) => (i < count - 1 ? branch.waitForSignal('x') : i), {
        minSuccessful: 1,
      });
      await ctx.sleep('wait', { hours: 1 });
      return 'done';
    };
    const { failed, restored, id } = await redeployed(branching(3), branching(2));
    expect(await failed.status()).toBe('FAILED');
    await expect(failed.result()).rejects.toThrow(/Operation "trips" has 2 branches in this code, but 3 were recorded/);
    const run = restored.run(id);
    await run.retry();
    await restored.skip({ hours: 2 });
    expect(await run.result()).toBe('done');
  });
});
