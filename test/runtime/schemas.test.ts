import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { SignalSchemas } from '../../lambda/runtime/definition/signal-schemas.ts';
import type { StandardSchema } from '../../lambda/runtime/definition/standard-schema.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';
import { counted } from './storages.ts';

/** A hand-written schema of objects with one whole number, which it also parses from text. */
const numberIn = (...path: string[]): StandardSchema<unknown, { readonly [key: string]: unknown }> => ({
  '~standard': {
    version: 1,
    vendor: 'by hand',
    async validate(value) {
      let found = value;
      for (const key of path) found = Object(found)[key];
      if (Number.isInteger(found)) return { value: Object(value) };
      if (path.length === 1 && typeof found === 'string' && /^\d+$/.test(found))
        return { value: { ...Object(value), [String(path[0])]: Number(found) } };
      return {
        issues: [{ message: `expected a whole number, found ${typeof found}`, path: path.map((key) => ({ key })) }],
      };
    },
  },
});

describe('the input schema', () => {
  const ordering = agent({ name: 'ordering', input: numberIn('count'), run: (_, input) => input });

  it('parses the input for the agent', async () => {
    const run = await testAgents(ordering).start({ count: '12', note: 'x' }, { id: 'r' });
    expect(await run.result()).toEqual({ count: 12, note: 'x' });
  });

  it('rejects an invalid input with the path, and starts nothing', async () => {
    const { storage, calls } = counted(memoryStorage());
    const world = testAgents(ordering, { storage });
    const started = world.agent.start({ count: 'many' }, { id: 'r' });
    await expect(started).rejects.toMatchObject({
      code: 'SCHEMA_REFUSED',
      message: 'The input of agent "ordering" does not match its schema: count: expected a whole number, found string.',
    });
    expect(calls.commit).toBe(0);
    await expect(world.run('r').status()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('also applies to a child run: an invalid input is rejected before it starts', async () => {
    const parent = agent({ name: 'parent', run: (ctx) => ctx.call(ordering, { count: 'many' }) });
    const world = testAgents(parent, { agents: [ordering] });
    const run = await world.start({}, { id: 'r' });
    const failure = await run.result().catch((error: unknown) => error);
    expect(String(Object(failure).message)).toContain('count: expected a whole number');
  });
});

describe('the result schema', () => {
  it('fails a run with an invalid result, and undoes its steps', async () => {
    const actions: string[] = [];
    const counting = agent({
      name: 'counting',
      result: numberIn('total', 'count'),
      async run(ctx, input: unknown) {
        await ctx.step('work', () => void actions.push('did'), { undo: () => void actions.push('undid') });
        return { total: { count: input } };
      },
    });
    const world = testAgents(counting);
    expect(await (await world.start(3, { id: 'fits' })).result()).toEqual({ total: { count: 3 } });
    actions.length = 0;
    const run = await world.start('three', { id: 'does not' });
    await expect(run.result()).rejects.toMatchObject({
      ...{ code: 'RUN_FAILED', cause: { code: 'SCHEMA_REFUSED' } },
      message: expect.stringContaining('total.count: expected a whole number, found string'),
    });
    expect(actions).toEqual(['did', 'undid']);
  });
});

describe('a signal schema', () => {
  // Typed as schemas of any name, so that the agent may also wait for a signal that has no schema.
  const signals: SignalSchemas = { count: numberIn('n') };
  const listening = agent({
    name: 'listening',
    signals,
    run: async (ctx) => [await ctx.waitForSignal('count'), await ctx.waitForSignal('other')],
  });

  it('parses the signal for the agent, and rejects an invalid one before anything is written', async () => {
    const { storage, calls } = counted(memoryStorage());
    const world = testAgents(listening, { storage });
    const run = await world.start({}, { id: 'r' });
    const before = calls.commit;
    await expect(world.agent.run('r').signal('count', { n: 'x' })).rejects.toMatchObject({
      ...{ code: 'SCHEMA_REFUSED', message: expect.stringContaining('Signal "count" does not match its schema: n:') },
    });
    await expect(world.agent.run('not started').signal('count', {})).rejects.toMatchObject({ code: 'SCHEMA_REFUSED' });
    expect(calls.commit).toBe(before);
    await run.signal('count', { n: '4' });
    await run.signal('other', 'anything');
    expect(await run.result()).toEqual([{ n: 4 }, 'anything']);
  });
});

describe('a schema', () => {
  it('can throw: its error is reported, and nothing is started', async () => {
    const broken: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'by hand',
        validate: () => {
          throw new RangeError('the schema is broken');
        },
      },
    };
    const world = testAgents(agent({ name: 'a', input: broken, run: () => 1 }));
    await expect(world.agent.start({}, { id: 'r' })).rejects.toThrow('the schema is broken');
    await expect(world.run('r').status()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('reports its first ten issues', async () => {
    const issues = Array.from({ length: 30 }, (_, i) => ({ message: `wrong ${i}`, path: ['list', i] }));
    const strict: StandardSchema = { '~standard': { version: 1, vendor: 'by hand', validate: () => ({ issues }) } };
    const world = testAgents(agent({ name: 'a', input: strict, run: () => 1 }));
    const failure = await world.agent.start({}).catch(String);
    expect(failure).toContain('list.9: wrong 9');
    expect(failure).not.toContain('wrong 10');
  });
});
