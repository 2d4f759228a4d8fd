import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { testAgents } from '../../lambda/testing.ts';
import { describeOnEachStorage, headOf } from './storages.ts';

type V1 = { readonly name: string };
type V2 = { readonly first: string; readonly last: string };
type V3 = V2 & { readonly greetings: readonly string[] };

const migrations = {
  1: ({ name }: V1): V2 => ({ first: name.split(' ')[0] ?? '', last: name.split(' ')[1] ?? '' }),
  2: (state: V2): V3 => ({ ...state, greetings: [] }),
};

/** The first and the current deployment of the agent. */
const runV1 = agent({
  name: 'greeter',
  state: { version: 1, initial: (input: { name: string }): V1 => input },
  async run(ctx) {
    await ctx.step('look up', () => 'from version 1');
    await ctx.approval('greet', { title: 'Greet?', approvers: ['user:ann'] });
    return ctx.state as unknown;
  },
});
const looked: string[] = [];
const runV3 = (from: Partial<typeof migrations> = migrations) =>
  agent({
    name: 'greeter',
    state: {
      version: 3,
      ...(Object.keys(from).length < 2 && { oldest: 2 }),
      migrations: from,
      initial: ({ name }: { name: string }): V3 => migrations[2](migrations[1]({ name })),
    },
    async run(ctx) {
      const found = await ctx.step('look up', () => {
        looked.push('again');
        return 'from version 3';
      });
      await ctx.approval('greet', { title: 'Greet?', approvers: ['user:ann'] });
      await ctx.update((draft) => void draft.greetings.push(`Hello ${draft.last}`));
      return { found, state: ctx.state };
    },
  });

const at = (time: string) => new Date(`2026-01-${time}`);

describeOnEachStorage('a run that was suspended under version 1 of its state', (open) => {
  it('resumes under version 3 with its recorded results', async () => {
    looked.length = 0;
    const storage = await open();
    await testAgents(runV1, { storage }).start({ name: 'Ada Lovelace' }, { id: 'r' });
    const now = testAgents(runV3(), { storage, now: at('15') });
    const run = now.run('r');
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    await run.approve('greet');
    expect(await run.result()).toEqual({
      found: 'from version 1',
      state: { first: 'Ada', last: 'Lovelace', greetings: ['Hello Lovelace'] },
    });
    expect(looked).toEqual([]);
    const schemas = [];
    for await (const { schema } of now.agent.store.history('r')) schemas.push(schema);
    expect(schemas.at(2)).toBe(1);
    expect(schemas.at(-1)).toBe(3);
  });
});

describe('a conversation that started under version 1 of its state', () => {
  const chatV1 = agent({
    name: 'chat',
    state: { version: 1, initial: (input: { name: string }): V1 => input },
    async turn(ctx, state: V1) {
      const text = await ctx.waitForSignal('say');
      return { name: `${state.name} ${text}` };
    },
  });
  const chatV3 = agent({
    name: 'chat',
    state: { version: 3, migrations, initial: (_: { name: string }): V3 => ({ first: '', last: '', greetings: [] }) },
    async turn(ctx, state: V3) {
      const text = (await ctx.waitForSignal('say')) as string;
      return text === 'bye' ? ctx.done(state) : { ...state, greetings: [...state.greetings, text] };
    },
  });

  it('resumes under version 3 at its current turn', async () => {
    const storage = memoryStorage();
    const before = await testAgents(chatV1, { storage }).start({ name: 'Ada' }, { id: 'r' });
    await before.signal('say', 'Lovelace');
    const run = testAgents(chatV3, { storage, now: at('15') }).run('r');
    await run.signal('say', 'hello');
    await run.signal('say', 'bye');
    expect(await run.result()).toEqual({ first: 'Ada', last: 'Lovelace', greetings: ['hello'] });
    const turns = (await run.checkpoints()).flatMap(({ step }) => step ?? []);
    expect(turns).toEqual(['turn 1', 'turn 2', 'turn 3']);
  });
});

describe('a run that the deployed code cannot read', () => {
  const suspended = async (): Promise<Storage> => {
    const storage = memoryStorage();
    await testAgents(runV1, { storage }).start({ name: 'Ada Lovelace' }, { id: 'r' });
    return storage;
  };

  it('is parked while a migration is missing, and its approvals can still be decided', async () => {
    const storage = await suspended();
    const short = testAgents(runV3({ 2: migrations[2] }), { storage, now: at('15') });
    const at15 = short.run('r');
    await at15.approve('greet');
    expect(await at15.status()).toBe('READY');
    expect((await headOf(short.agent, 'r')).work?.parkedReason).toContain('migrations start at 2');
    expect(short.invocations).toEqual([{ end: 'skipped', reason: 'parked' }]);
    const whole = testAgents(runV3(), { storage, now: at('16') });
    await whole.settle();
    expect(await whole.run('r').result()).toMatchObject({ state: { last: 'Lovelace' } });
  });

  it('is parked with the message of a migration that throws', async () => {
    const storage = await suspended();
    const broken = {
      ...migrations,
      1: (): V2 => {
        throw new Error('no last name');
      },
    };
    const world = testAgents(runV3(broken), { storage, now: at('15') });
    await world.run('r').approve('greet');
    expect(await world.run('r').status()).toBe('READY');
    expect((await headOf(world.agent, 'r')).work?.parkedReason).toContain('no last name');
  });

  it('can be cancelled, and keeps its signals and decisions', async () => {
    const storage = await suspended();
    const world = testAgents(runV3({ 2: migrations[2] }), { storage, now: at('15') });
    await world.run('r').approve('greet');
    await world.run('r').signal('note', 1);
    expect(await world.run('r').cancel()).toBe('CANCELLED');
  });
});

describe('an initial state that cannot be created', () => {
  it('fails the run with the reason', async () => {
    const world = testAgents(
      agent({
        name: 'picky',
        state: {
          initial: (input: { name?: string }) => {
            if (!input.name) throw new TypeError('a name is needed');
            return input;
          },
        },
        run: () => 1,
      }),
    );
    const run = await world.start({}, { id: 'r' });
    await expect(run.result()).rejects.toMatchObject({ code: 'RUN_FAILED', cause: { message: 'a name is needed' } });
    const other = testAgents(agent({ name: 'odd', state: { initial: () => ({ f: () => 1 }) }, run: () => 1 }));
    const odd = await other.start({}, { id: 'r' });
    await expect(odd.result()).rejects.toMatchObject({ cause: { code: 'UNSUPPORTED_VALUE' } });
  });
});
