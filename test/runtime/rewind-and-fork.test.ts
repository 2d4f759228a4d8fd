import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { viewApproval } from '../../lambda/runtime/approvals/view.ts';
import { testAgents } from '../../lambda/testing.ts';
import { describeOnEachStorage, gate, otherProcessOptions } from './storages.ts';

const ANN = { title: 'Go?', approvers: ['user:ann'] } as const;

/** An agent of three steps that each log their idempotency key. */
function keyed(fails = { at: '' }) {
  const keys: Record<string, string[]> = { a: [], b: [], c: [] };
  const worker = agent({
    name: 'worker',
    state: { initial: () => ({ notes: [] as string[] }) },
    retry: { maxAttempts: 1 },
    async run(ctx) {
      const got: string[] = [];
      for (const name of ['a', 'b', 'c']) {
        const value = await ctx.step(name, ({ idempotencyKey }) => {
          keys[name]?.push(idempotencyKey);
          if (fails.at === name) throw new Error(`${name} failed`);
          return `${name}${keys[name]?.length}`;
        });
        got.push(value);
        await ctx.update((draft) => void draft.notes.push(value));
      }
      return { got, notes: ctx.state.notes };
    },
  });
  return { worker, keys };
}

const versionAfter = (all: readonly { readonly step?: string; readonly version: number }[], step: string): number =>
  all.find((each) => each.step === step)?.version ?? 0;

describe('a rewind', () => {
  it('runs the steps after the checkpoint again, with the same keys and the state of the checkpoint', async () => {
    const { worker, keys } = keyed();
    const world = testAgents(worker);
    const run = await world.start({}, { id: 'r' });
    const before = await run.checkpoints();
    await run.rewind(versionAfter(before, 'a'));
    expect(await run.result()).toEqual({ got: ['a1', 'b2', 'c2'], notes: ['a1', 'b2', 'c2'] });
    for (const name of ['b', 'c']) expect(new Set(keys[name]).size).toBe(1);
    expect(keys.a).toHaveLength(1);
    const after = await run.checkpoints();
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after[before.length]).toMatchObject({ kind: 'rewind', restored: versionAfter(before, 'a') });
  });

  it('uses new keys on request', async () => {
    const { worker, keys } = keyed();
    const world = testAgents(worker);
    const run = await world.start({}, { id: 'r' });
    await run.rewind(1, { newKeys: true });
    await run.rewind(1);
    for (const name of ['a', 'b', 'c']) {
      const [first, second, third] = keys[name] ?? [];
      expect(second).not.toBe(first);
      expect(third).toBe(second);
    }
  });

  it('accepts the name of a checkpoint', async () => {
    const actions: string[] = [];
    const named = agent({
      name: 'named',
      async run(ctx) {
        await ctx.step('before', () => void actions.push('before'));
        await ctx.checkpoint('ready');
        await ctx.step('after', () => void actions.push('after'));
      },
    });
    const world = testAgents(named);
    const run = await world.start({}, { id: 'r' });
    await run.rewind({ name: 'ready' });
    expect(await run.status()).toBe('SUCCEEDED');
    expect(actions).toEqual(['before', 'after', 'after']);
    await expect(run.rewind({ name: 'nothing' })).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
  });

  it('withdraws pending approvals and requests them again; a decision on the old request is rejected', async () => {
    const approvalAgent = agent({
      name: 'asking',
      async run(ctx) {
        await ctx.step('prepare', () => 1);
        return (await ctx.approval('pay', ANN)).comment;
      },
    });
    const world = testAgents(approvalAgent);
    const run = await world.start({}, { id: 'r' });
    const [old] = await run.approvals();
    await run.rewind(versionAfter(await run.checkpoints(), 'prepare'));
    const [open] = await run.approvals();
    expect(open?.id).not.toBe(old?.id);
    const at = await world.agent.runtime.contexts.forRun('r');
    expect(await viewApproval(at, old?.id ?? '')).toMatchObject({
      ...{ status: 'WITHDRAWN', withdrawalReason: 'The run was rewound.' },
    });
    const late = run.decide({ approval: old?.id ?? '', by: 'user:ann', answer: 'approve' });
    await expect(late).rejects.toMatchObject({ code: 'APPROVAL_WITHDRAWN' });
    await run.approve('pay', { comment: 'the new one' });
    expect(await run.result()).toBe('the new one');
    await run.rewind(versionAfter(await run.checkpoints(), 'prepare'));
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    await run.approve('pay', { comment: 'the third' });
    expect(await run.result()).toBe('the third');
  });

  it('reads the facts again when the checkpoint is after their recheck', async () => {
    const prices = [1200, 1200, 1500, 1500];
    const booked: number[] = [];
    const travel = agent({
      name: 'travel',
      async run(ctx) {
        const price = await ctx.step('search', () => prices.shift() ?? 0);
        const { approved, facts } = await ctx.approval('book', {
          ...ANN,
          facts: { price },
          recheck: () => ({ price: prices.shift() }),
        });
        if (approved) await ctx.step('book', () => void booked.push(Number(facts?.price)));
      },
    });
    const world = testAgents(travel);
    const run = await world.start({}, { id: 'r' });
    await run.approve('book');
    expect(booked).toEqual([1200]);
    await run.rewind(versionAfter(await run.checkpoints(), 'book/recheck'));
    await run.approve('book');
    expect(await run.approvals()).toMatchObject([{ requestNumber: 2, changed: { after: { price: 1500 } } }]);
    expect(booked).toEqual([1200]);
    await run.approve('book');
    expect(booked).toEqual([1200, 1500]);
  });

  it('delivers the signals after the checkpoint again', async () => {
    const listening = agent({
      name: 'listening',
      async run(ctx) {
        await ctx.step('begin', () => 1);
        const one = await ctx.waitForSignal('go');
        await ctx.step('middle', () => 1);
        const two = await ctx.waitForSignal('go');
        return [one, two];
      },
    });
    const world = testAgents(listening);
    const run = await world.start({}, { id: 'r' });
    await run.signal('go', 1);
    await run.signal('go', 2);
    await run.rewind(versionAfter(await run.checkpoints(), 'middle'));
    expect(await run.result()).toEqual([1, 2]);
    await run.rewind(versionAfter(await run.checkpoints(), 'begin'));
    expect(await run.result()).toEqual([1, 2]);
  });

  it('fences the process that is running the run', async () => {
    const [started, finish] = [gate(), gate()];
    let attempts = 0;
    const holder = agent({
      name: 'holder',
      run: (ctx) =>
        ctx.step('hold', async () => {
          attempts += 1;
          started.open();
          if (attempts === 1) await finish.opened;
          return attempts;
        }),
    });
    const world = testAgents(holder);
    await world.agent.start({}, { id: 'r' });
    const invoked = world.agent.invoke({ run: 'r' }, { by: 'first', until: world.clock.now() + 600_000 });
    await started.opened;
    await world.run('r').rewind(1);
    expect(await world.run('r').result()).toBe(2);
    finish.open();
    expect(await invoked).toEqual({ end: 'fenced' });
    expect(await world.run('r').result()).toBe(2);
  });

  it('runs undone steps again, with new keys', async () => {
    const actions: string[] = [];
    const keys = new Set<string>();
    let broken = true;
    const paying = agent({
      name: 'paying',
      retry: { maxAttempts: 1 },
      async run(ctx) {
        await ctx.step(
          'pay',
          ({ idempotencyKey }) => {
            keys.add(idempotencyKey);
            actions.push('pay');
          },
          { undo: () => void actions.push('unpay') },
        );
        await ctx.step('ship', () => {
          if (broken) throw new Error('broken');
          actions.push('ship');
        });
      },
    });
    const world = testAgents(paying);
    const run = await world.start({}, { id: 'r' });
    expect(actions).toEqual(['pay', 'unpay']);
    broken = false;
    await run.rewind(versionAfter(await run.checkpoints(), 'pay'));
    expect(await run.status()).toBe('SUCCEEDED');
    expect(actions).toEqual(['pay', 'unpay', 'pay', 'ship']);
    expect(keys.size).toBe(2);
  });

  it('returns a conversation to an earlier turn', async () => {
    const chat = agent({
      name: 'chat',
      state: { initial: () => ({ messages: [] as string[] }) },
      async turn(ctx, state: { messages: string[] }) {
        const text = (await ctx.waitForSignal('say')) as string;
        return text === 'bye' ? ctx.done(state.messages) : { messages: [...state.messages, text] };
      },
    });
    const world = testAgents(chat);
    const run = await world.start({}, { id: 'r' });
    for (const text of ['one', 'two', 'bye']) await run.signal('say', text);
    expect(await run.result()).toEqual(['one', 'two']);
    await run.rewind(versionAfter(await run.checkpoints(), 'turn 1'));
    expect(await run.result()).toEqual(['one', 'two']);
  });
});

describe('a fork', () => {
  it('continues independently from the checkpoint with its own keys, and does not change the original run', async () => {
    const { worker, keys } = keyed();
    const world = testAgents(worker);
    const run = await world.start({}, { id: 'r' });
    const before = await run.checkpoints();
    const { id } = await run.fork({ version: versionAfter(before, 'a'), id: 'f' });
    expect(id).toBe('f');
    const fork = world.run('f');
    expect(await fork.result()).toEqual({ got: ['a1', 'b2', 'c2'], notes: ['a1', 'b2', 'c2'] });
    expect(keys.b?.[1]).not.toBe(keys.b?.[0]);
    expect(await run.checkpoints()).toEqual(before);
    expect((await fork.checkpoints())[0]).toMatchObject({
      kind: 'fork',
      parent: { run: 'r', version: versionAfter(before, 'a') },
    });
    await expect(run.fork({ id: 'f' })).rejects.toMatchObject({ code: 'RUN_EXISTS' });
  });

  it('requests its own approvals, and the approvals of the original run stay pending', async () => {
    const world = testAgents(agent({ name: 'asking', run: async (ctx) => (await ctx.approval('pay', ANN)).approved }));
    const run = await world.start({}, { id: 'r' });
    const fork = world.run((await run.fork()).id);
    expect(await fork.status()).toBe('WAITING_FOR_APPROVAL');
    await fork.reject('pay');
    expect(await fork.result()).toBe(false);
    await run.approve('pay');
    expect(await run.result()).toBe(true);
  });

  it('can start with another state', async () => {
    const chat = agent({
      name: 'chat',
      state: { initial: () => ({ model: 'small', messages: [] as string[] }) },
      async turn(ctx, state: { model: string; messages: string[] }) {
        const text = (await ctx.waitForSignal('say')) as string;
        if (text === 'bye') return ctx.done(state);
        return { ...state, messages: [...state.messages, `${state.model}: ${text}`] };
      },
    });
    const world = testAgents(chat);
    const run = await world.start({}, { id: 'r' });
    await run.signal('say', 'hello');
    await run.signal('say', 'again');
    const version = versionAfter(await run.checkpoints(), 'turn 1');
    const handle = await run.fork({ version, edit: (state) => ({ ...Object(state), model: 'large' }) });
    const fork = world.run(handle.id);
    await fork.signal('say', 'hi');
    await fork.signal('say', 'bye');
    expect(await fork.result()).toEqual({ model: 'large', messages: ['small: hello', 'large: hi'] });
    expect(await run.status()).toBe('WAITING_FOR_SIGNAL');
  });

  it('can start with other results of steps and tools', async () => {
    const actions: string[] = [];
    const pricing = agent({
      name: 'pricing',
      async run(ctx) {
        const price = await ctx.tool('price', { order: 7 }, () => {
          actions.push('price');
          return 100;
        });
        const rate = await ctx.step('rate', () => 2);
        return ctx.step('total', () => price * rate);
      },
    });
    const world = testAgents(pricing);
    const run = await world.start({}, { id: 'r' });
    expect(await run.result()).toBe(200);
    const version = versionAfter(await run.checkpoints(), 'rate');
    const { id } = await run.fork({ version, toolResults: { price: 150, rate: 3 } });
    expect(await world.run(id).result()).toBe(450);
    expect(actions).toEqual(['price']);
    await expect(run.fork({ version, toolResults: { unknown: 1 } })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});

describe('a retry', () => {
  it('resumes a failed run where it was', async () => {
    const fails = { at: 'b' };
    const { worker, keys } = keyed(fails);
    const world = testAgents(worker);
    const run = await world.start({}, { id: 'r' });
    await expect(run.result()).rejects.toThrow('b failed');
    fails.at = '';
    await run.retry();
    expect(await run.result()).toEqual({ got: ['a1', 'b2', 'c1'], notes: ['a1', 'b2', 'c1'] });
    expect(new Set(keys.b).size).toBe(1);
    expect((await run.checkpoints()).map(({ kind }) => kind)).toContain('retry');
  });

  it('is rejected for a run that has not failed', async () => {
    const world = testAgents(agent({ name: 'quick', run: () => 1 }));
    const run = await world.start({}, { id: 'r' });
    await expect(run.retry()).rejects.toMatchObject({ code: 'TRANSITION_REFUSED' });
    await expect(world.run('nobody').retry()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('does not change other runs when it covers all runs that failed since a date', async () => {
    const fails = { at: 'a' };
    const { worker } = keyed(fails);
    const other = agent({ name: 'other', run: () => Promise.reject(new Error('always')) });
    const world = testAgents(worker, { agents: [other] });
    await world.start({}, { id: 'old' });
    await world.skip({ hours: 2 });
    const since = new Date(world.clock.now());
    for (const id of ['new 1', 'new 2', 'new 3']) await world.start({}, { id });
    const others = other.with(otherProcessOptions(world));
    await others.start({}, { id: 'of the other' });
    await others.invoke({ run: 'of the other' }, { by: 'x', until: world.clock.now() + 60_000 });
    fails.at = '';
    const retried = await world.agent.retryAll({ since });
    expect(retried.toSorted()).toEqual(['new 1', 'new 2', 'new 3']);
    await world.settle();
    for (const id of retried) expect(await world.run(id).status()).toBe('SUCCEEDED');
    expect(await world.run('old').status()).toBe('FAILED');
    expect(await world.run('of the other').status()).toBe('FAILED');
  });
});

describe('history', () => {
  it('shows the claims, cancels, retries, rewinds and forks of a run', async () => {
    const fails = { at: 'b' };
    const { worker } = keyed(fails);
    const world = testAgents(worker);
    const run = await world.start({}, { id: 'r' });
    fails.at = '';
    await run.retry();
    await run.rewind(1);
    const kinds = (await run.checkpoints()).map(({ kind }) => kind).filter((kind) => kind !== 'save');
    expect(kinds).toEqual(['claim', 'retry', 'claim', 'rewind', 'claim']);
    const waiting = testAgents(agent({ name: 'waiting', run: (ctx) => ctx.waitForSignal('go') }));
    const cancelled = await waiting.start({}, { id: 'r' });
    await cancelled.cancel();
    expect((await cancelled.checkpoints()).map(({ kind }) => kind)).toEqual(['save', 'claim', 'save', 'cancel']);
  });
});

describeOnEachStorage('time travel', (open) => {
  it('rewinds, forks and retries', async () => {
    const fails = { at: 'c' };
    const { worker, keys } = keyed(fails);
    const world = testAgents(worker, { storage: await open(), deliverTwice: true });
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('FAILED');
    fails.at = '';
    await run.retry();
    expect(await run.result()).toMatchObject({ got: ['a1', 'b1', 'c2'] });
    const version = versionAfter(await run.checkpoints(), 'a');
    await run.rewind(version, { newKeys: true });
    expect(await run.result()).toMatchObject({ got: ['a1', 'b2', 'c3'] });
    expect(keys.b?.[1]).not.toBe(keys.b?.[0]);
    const fork = world.run((await run.fork({ version })).id);
    expect(await fork.result()).toMatchObject({ got: ['a1', 'b3', 'c4'] });
  });
});
