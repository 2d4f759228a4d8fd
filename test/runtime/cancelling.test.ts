import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { viewApproval } from '../../lambda/runtime/approvals/view.ts';
import type { AgentContext } from '../../lambda/runtime/definition/agent-context.ts';
import { RetryableError } from '../../lambda/runtime/definition/agent-errors.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { testAgents } from '../../lambda/testing.ts';
import {
  describeOnEachStorage,
  gate,
  headIn,
  headOf,
  interceptCommits,
  otherProcessOptions,
  withEventBefore,
} from './storages.ts';

const ANN = { title: 'Go on?', approvers: ['user:ann'] } as const;

const waits = {
  WAITING_FOR_APPROVAL: (ctx: AgentContext) => ctx.approval('ask', ANN),
  WAITING_FOR_SIGNAL: (ctx: AgentContext) => ctx.waitForSignal('go'),
  SLEEPING: (ctx: AgentContext) => ctx.sleep('night', { hours: 8 }),
};

/** Books a flight and a hotel, then waits; `did` logs each booking and each undo. */
function booking(wait: (ctx: AgentContext) => Promise<unknown>) {
  const actions: string[] = [];
  const travel = agent({
    name: 'travel',
    async run(ctx, input: { undoes: boolean }) {
      const undo = input.undoes && { undo: (result: string) => void actions.push(`un${result}`) };
      for (const what of ['flight', 'hotel']) {
        await ctx.step(
          what,
          () => {
            actions.push(what);
            return what;
          },
          undo || {},
        );
      }
      await wait(ctx);
      actions.push('went on');
      return 'travelled';
    },
  });
  return { travel, actions };
}

describe.each(Object.entries(waits))('cancelling a run that is %s', (status, wait) => {
  it('ends it immediately when there is nothing to undo', async () => {
    const { travel, actions } = booking(wait);
    const world = testAgents(travel);
    const run = await world.start({ undoes: false }, { id: 'r' });
    expect(await run.status()).toBe(status);
    expect(await run.cancel('Changed her mind.')).toBe('CANCELLED');
    expect(world.invocations).toHaveLength(1);
    expect(actions).toEqual(['flight', 'hotel']);
    const failure = await run.result().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'RUN_CANCELLED', message: expect.stringContaining('Changed her mind.') });
    await world.skip({ days: 1 });
    expect(actions).toEqual(['flight', 'hotel']);
  });

  it('wakes it to undo its steps in reverse order, each once even when processes crash', async () => {
    const { travel, actions } = booking(wait);
    const world = testAgents(travel, { deliverTwice: true });
    const run = await world.start({ undoes: true }, { id: 'r' });
    world.crash({ recorded: '@undo:hotel' });
    expect(await run.cancel()).toBe('ENDING');
    expect(await run.status()).toBe('CANCELLED');
    expect(actions).toEqual(['flight', 'hotel', 'unhotel', 'unflight']);
    const kinds = (await run.checkpoints()).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'cancel')).toHaveLength(1);
  });
});

describe('cancel', () => {
  it('ends a run that was never claimed without running the agent', async () => {
    const { travel, actions } = booking(waits.SLEEPING);
    const world = testAgents(travel);
    const run = await world.agent.start({ undoes: true }, { id: 'r' });
    expect(await run.cancel()).toBe('CANCELLED');
    await world.settle();
    expect(world.invocations).toEqual([{ end: 'skipped', reason: 'ended' }]);
    expect(actions).toEqual([]);
  });

  it('has no further effect when it is repeated', async () => {
    const { travel, actions } = booking(waits.WAITING_FOR_SIGNAL);
    const world = testAgents(travel);
    const run = await world.start({ undoes: true }, { id: 'r' });
    const both = await Promise.all([world.agent.run('r').cancel('one'), world.agent.run('r').cancel('two')]);
    expect(both).toEqual(['ENDING', 'ENDING']);
    await world.settle();
    expect(await run.cancel('three')).toBe('CANCELLED');
    expect((await run.checkpoints()).filter(({ kind }) => kind === 'cancel')).toHaveLength(1);
    expect(actions).toEqual(['flight', 'hotel', 'unhotel', 'unflight']);
  });

  it('does not change a run that has succeeded', async () => {
    const world = testAgents(agent({ name: 'quick', run: () => 1 }));
    const run = await world.start({}, { id: 'r' });
    const before = await run.checkpoints();
    expect(await run.cancel()).toBe('SUCCEEDED');
    expect(await run.checkpoints()).toEqual(before);
    expect(await run.result()).toBe(1);
  });

  it('throws RUN_NOT_FOUND for an unknown run, and rejects a reason that is not text', async () => {
    const { run } = testAgents(agent({ name: 'quick', run: () => 1 }));
    await expect(run('nobody').cancel()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(run('nobody').cancel('x'.repeat(2001))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('withdraws pending approvals in the transaction that appends the next version', async () => {
    const commits: string[][] = [];
    const storage = interceptCommits(memoryStorage(), async (writes, commit) => {
      await commit();
      commits.push(writes.flatMap((write) => ('put' in write ? write.put.key : [])));
    });
    const two = agent({
      name: 'two',
      run: (ctx) => Promise.all([ctx.approval('one', ANN), ctx.approval('two', ANN)]),
    });
    const world = testAgents(two, { storage });
    const run = await world.start({}, { id: 'r' });
    const { version } = (await run.checkpoints()).at(-1) ?? { version: 0 };
    await world.agent.run('r').cancel();
    expect(commits.at(-1)?.toSorted()).toEqual(['aone', 'atwo', `c000000000${version + 1}`, 'cz']);
    const at = await world.agent.runtime.contexts.forRun('r');
    expect(await viewApproval(at, 'one')).toMatchObject({
      status: 'WITHDRAWN',
      withdrawalReason: 'The run is CANCELLED.',
    });
    expect(await run.approvals()).toEqual([]);
    await expect(run.decide({ approval: 'two', by: 'user:ann', answer: 'approve' })).rejects.toMatchObject({
      code: 'APPROVAL_WITHDRAWN',
    });
  });

  it('records and undoes a step that is running, and starts no further step', async () => {
    const [started, finish] = [gate(), gate()];
    const actions: string[] = [];
    const busy = agent({
      name: 'busy',
      async run(ctx) {
        await ctx.step(
          'pay',
          async () => {
            started.open();
            await finish.opened;
            actions.push('paid');
            return 12;
          },
          { undo: (amount) => void actions.push(`gave back ${amount}`) },
        );
        await ctx.step('next', () => void actions.push('next'));
      },
    });
    const world = testAgents(busy);
    await world.agent.start({}, { id: 'r' });
    const settled = world.settle();
    await started.opened;
    expect(await world.agent.run('r').cancel('stop')).toBe('ENDING');
    finish.open();
    await settled;
    const run = world.run('r');
    expect(await run.status()).toBe('CANCELLED');
    expect(actions).toEqual(['paid', 'gave back 12']);
    await expect(run.result()).rejects.toThrow('was cancelled: stop');
    const all = await run.checkpoints();
    expect(all.map(({ kind, step }) => step ?? kind)).toEqual(['save', 'claim', 'cancel', 'pay', 'save', 'save']);
    expect(world.invocations).toHaveLength(1);
  });

  it('ends a run with a running step that the agent does not await', async () => {
    const [started, finish] = [gate(), gate()];
    const careless = agent({
      name: 'careless',
      async run(ctx) {
        void ctx.step('work', async () => {
          started.open();
          await finish.opened;
        });
        return 'returned';
      },
    });
    const world = testAgents(careless);
    await world.agent.start({}, { id: 'r' });
    const before = world.clock.now();
    const settled = world.settle();
    await started.opened;
    await world.agent.run('r').cancel();
    finish.open();
    await settled;
    expect(await world.run('r').status()).toBe('CANCELLED');
    expect(world.invocations).toHaveLength(1);
    expect(world.clock.now()).toBe(before);
  });

  it('ends a run whose process has crashed, in the next process', async () => {
    const { travel, actions } = booking(waits.SLEEPING);
    const world = testAgents(travel, { storage: memoryStorage() });
    await world.agent.start({ undoes: true }, { id: 'r' });
    const until = world.clock.now() + 60_000;
    // A process that claims the run and never reports back.
    const crashed = travel.with({
      ...otherProcessOptions(world),
      probe: (moment) => (moment === 'recorded' ? 'crash' : undefined),
    });
    expect(await crashed.invoke({ run: 'r' }, { by: 'dead', until })).toMatchObject({ end: 'failed' });
    expect(await world.agent.run('r').cancel()).toBe('ENDING');
    expect(actions).toEqual(['flight']);
    await world.skip({ minutes: 3 });
    expect(await world.run('r').status()).toBe('CANCELLED');
    expect(actions).toEqual(['flight', 'unflight']);
  });
});

describe('a cancel that races with another event', () => {
  it('cancels the run and keeps an approval that was decided first', async () => {
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'CANCELLED');
    const world = testAgents(agent({ name: 'asking', run: (ctx) => ctx.approval('ask', ANN) }), { storage });
    const run = await world.start({}, { id: 'r' });
    storage.hook.event = () => world.agent.run('r').decide({ approval: 'ask', by: 'user:ann', answer: 'approve' });
    await run.cancel();
    expect(storage.hook.event).toBeUndefined();
    expect(await run.status()).toBe('CANCELLED');
    const at = await world.agent.runtime.contexts.forRun('r');
    expect(await viewApproval(at, 'ask')).toMatchObject({ status: 'APPROVED' });
  });

  it('withdraws an approval when it is first, and rejects the late decision', async () => {
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'READY');
    const world = testAgents(agent({ name: 'asking', run: (ctx) => ctx.approval('ask', ANN) }), { storage });
    const run = await world.start({}, { id: 'r' });
    storage.hook.event = () => world.agent.run('r').cancel();
    const decided = run.decide({ approval: 'ask', by: 'user:ann', answer: 'approve' });
    await expect(decided).rejects.toMatchObject({ code: 'APPROVAL_WITHDRAWN' });
    expect(await run.status()).toBe('CANCELLED');
  });

  it('loses to the end of the run or wins against it; when it wins, completed steps are undone', async () => {
    const actions: string[] = [];
    const quick = agent({
      name: 'quick',
      run: (ctx) => ctx.step('pay', () => void actions.push('paid'), { undo: () => void actions.push('unpaid') }),
    });
    const first = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'SUCCEEDED');
    const world = testAgents(quick, { storage: first });
    first.hook.event = () => world.agent.run('r').cancel();
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('CANCELLED');
    expect(actions).toEqual(['paid', 'unpaid']);

    actions.length = 0;
    const storage = memoryStorage();
    const second = withEventBefore(storage, (writes) => headIn(writes)?.status === 'CANCELLED');
    const ending = testAgents(quick, { storage });
    await ending.agent.start({}, { id: 'r' });
    second.hook.event = () => ending.settle();
    const late = quick.with({ storage: second, clock: ending.clock, log: () => {} });
    expect(await late.run('r').cancel()).toBe('SUCCEEDED');
    expect(actions).toEqual(['paid']);
  });

  it('cancels a run that is failing in the same invocation, and undoes no step twice', async () => {
    const actions: string[] = [];
    const child = agent({ name: 'child', run: (ctx) => ctx.sleep('long', { days: 9 }) });
    const failing = agent({
      name: 'failing',
      async run(ctx) {
        await ctx.step('pay', () => void actions.push('paid'), { undo: () => void actions.push('unpaid') });
        const undo = () => Promise.reject(new Error('no answer'));
        await ctx.step('book', () => void actions.push('booked'), { undo, retry: { maxAttempts: 1 } });
        await ctx.all('both', [(branch) => branch.call(child, {}), () => Promise.reject(new Error('failed'))]);
      },
    });
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'FAILED');
    const world = testAgents(failing, { storage, agents: [child] });
    storage.hook.event = () => world.agent.run('r').cancel('Changed her mind.');
    const run = await world.start({}, { id: 'r' });
    expect(storage.hook.event).toBeUndefined();
    expect(world.invocations.filter(({ end }) => end === 'failed')).toEqual([]);
    expect(await run.status()).toBe('CANCELLED');
    expect(actions).toEqual(['paid', 'booked', 'unpaid']);
    await expect(run.result()).rejects.toThrow('was cancelled: Changed her mind.');
    const all = await run.checkpoints();
    expect(all.filter(({ kind }) => kind === 'claim')).toHaveLength(1);
    expect(all.at(-1)?.toolResults['@error']).toMatchObject({ notUndone: ['book: no answer'] });
    expect(await world.run('r.both[0]/child').status()).toBe('CANCELLED');
  });

  it('leaves the run suspended while an undo waits for a retry', async () => {
    const actions: string[] = [];
    const failing = agent({
      name: 'failing',
      async run(ctx) {
        await ctx.step('pay', () => void actions.push('paid'), {
          undo: (_, { attempt }) => {
            if (attempt === 1) throw new RetryableError('busy', { retryAfter: { hours: 2 } });
            actions.push('unpaid');
          },
        });
        throw new Error('failed');
      },
    });
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.work?.suspended === true);
    const world = testAgents(failing, { storage });
    storage.hook.event = () => world.agent.run('r').cancel();
    const before = world.clock.now();
    const run = await world.start({}, { id: 'r' });
    expect(storage.hook.event).toBeUndefined();
    expect(world.invocations).toEqual([{ end: 'suspended', status: 'ENDING' }]);
    expect(world.clock.now()).toBe(before);
    await world.skip({ hours: 3 });
    expect(await run.status()).toBe('CANCELLED');
    expect(actions).toEqual(['paid', 'unpaid']);
  });

  /** A step whose `undo` succeeds only after a retry delay of two hours; `did` logs its calls. */
  function busyUndo() {
    const actions: string[] = [];
    const undo = (_: unknown, { attempt }: { attempt: number }) => {
      if (attempt === 1) throw new RetryableError('busy', { retryAfter: { hours: 2 } });
      actions.push('unpaid');
    };
    return { actions, undo, pay: () => void actions.push('paid') };
  }

  it.each([
    [
      'run',
      (storage: Storage, { pay, undo }: ReturnType<typeof busyUndo>) =>
        testAgents(agent({ name: 'paying', run: (ctx) => ctx.step('pay', pay, { undo }) }), { storage }),
    ],
    [
      'turn',
      (storage: Storage, { pay, undo }: ReturnType<typeof busyUndo>) =>
        testAgents(
          agent({
            name: 'paying',
            state: { initial: () => ({}) },
            undo: { pay: undo },
            async turn(ctx) {
              await ctx.step('pay', pay);
              return ctx.done('paid');
            },
          }),
          { storage },
        ),
    ],
  ])('suspends a run whose agent (%s) has just returned while its undo waits for a retry', async (_, open) => {
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'SUCCEEDED');
    const paying = busyUndo();
    const world = open(storage, paying);
    storage.hook.event = () => world.agent.run('r').cancel();
    const before = world.clock.now();
    const run = await world.start({}, { id: 'r' });
    expect(storage.hook.event).toBeUndefined();
    expect(world.invocations).toEqual([{ end: 'suspended', status: 'ENDING' }]);
    expect(world.clock.now()).toBe(before);
    await world.skip({ hours: 3 });
    expect(await run.status()).toBe('CANCELLED');
    expect(paying.actions).toEqual(['paid', 'unpaid']);
  });

  it('is detected by the write that suspends the run', async () => {
    const { travel, actions } = booking(waits.SLEEPING);
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'SLEEPING');
    const world = testAgents(travel, { storage });
    storage.hook.event = () => world.agent.run('r').cancel();
    const run = await world.start({ undoes: true }, { id: 'r' });
    expect(await run.status()).toBe('CANCELLED');
    expect(actions).toEqual(['flight', 'hotel', 'unhotel', 'unflight']);
    expect(world.invocations).toHaveLength(1);
  });

  it('withdraws an approval that is just being requested, or prevents it', async () => {
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'WAITING_FOR_APPROVAL');
    const world = testAgents(agent({ name: 'asking', run: (ctx) => ctx.approval('ask', ANN) }), { storage });
    storage.hook.event = () => world.agent.run('r').cancel();
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('CANCELLED');
    expect(world.notifications).toEqual([]);
    const at = await world.agent.runtime.contexts.forRun('r');
    const view = await viewApproval(at, 'ask').catch(({ code }) => ({ status: code }));
    expect(['WITHDRAWN', 'APPROVAL_NOT_FOUND']).toContain(view.status);
    expect((await headOf(world.agent, 'r')).work?.approvals ?? []).toEqual([]);
  });
});

describe('cancelling a run with children', () => {
  const sleeper = agent({ name: 'sleeper', run: (ctx) => ctx.sleep('long', { days: 9 }) });
  const middle = agent({ name: 'middle', run: (ctx) => ctx.call(sleeper, {}) });

  it('cancels them at any depth, even when there is nothing to undo', async () => {
    const top = agent({ name: 'top', run: (ctx) => ctx.call(middle, {}) });
    const world = testAgents(top, { agents: [middle, sleeper] });
    const run = await world.start({}, { id: 'r' });
    expect(await world.run('r.middle.sleeper').status()).toBe('SLEEPING');
    await run.cancel();
    for (const id of ['r', 'r.middle', 'r.middle.sleeper']) expect(await world.run(id).status()).toBe('CANCELLED');
  });

  it('does not change children that have ended', async () => {
    const quick = agent({ name: 'quick', run: () => 1 });
    const top = agent({
      name: 'top',
      async run(ctx) {
        await ctx.call(quick, {});
        await ctx.call(sleeper, {});
      },
    });
    const world = testAgents(top, { agents: [quick, sleeper] });
    const run = await world.start({}, { id: 'r' });
    await run.cancel();
    expect(await world.run('r.quick').status()).toBe('SUCCEEDED');
    expect(await world.run('r.sleeper').status()).toBe('CANCELLED');
  });

  it('also happens when the run times out or fails', async () => {
    const timed = agent({ name: 'timed', timeout: { hours: 1 }, run: (ctx) => ctx.call(sleeper, {}) });
    const world = testAgents(timed, { agents: [sleeper] });
    await world.start({}, { id: 'r' });
    await world.skip({ hours: 2 });
    expect(await world.run('r').status()).toBe('FAILED');
    expect(await world.run('r.sleeper').status()).toBe('CANCELLED');

    const failing = agent({
      name: 'failing',
      run: (ctx) =>
        ctx.all('both', [
          (branch) => branch.call(sleeper, {}),
          async (branch) => {
            await branch.sleep('soon', { hours: 1 });
            throw new Error('failed');
          },
        ]),
    });
    const other = testAgents(failing, { agents: [sleeper] });
    await other.start({}, { id: 'r' });
    await other.skip({ hours: 1 });
    expect(await other.run('r').status()).toBe('FAILED');
    expect(await other.run('r.both[0]/sleeper').status()).toBe('CANCELLED');
  });

  it('wakes the parent when only the child is cancelled', async () => {
    const top = agent({
      name: 'top',
      run: (ctx) => ctx.call(sleeper, {}).catch((error: Error) => `${error.message} / ${String(error.cause)}`),
    });
    const world = testAgents(top, { agents: [sleeper] });
    const run = await world.start({}, { id: 'r' });
    await world.run('r.sleeper').cancel('not needed');
    expect(await run.result()).toContain('not needed');
  });
});

describeOnEachStorage('cancel', (open) => {
  it('undoes completed steps, withdraws pending approvals and cancels children', async () => {
    const actions: string[] = [];
    const child = agent({ name: 'child', run: (ctx) => ctx.sleep('long', { days: 9 }) });
    const parent = agent({
      name: 'parent',
      async run(ctx) {
        await ctx.step('pay', () => void actions.push('pay'), { undo: () => void actions.push('unpay') });
        await ctx.all('both', [(branch) => branch.approval('ask', ANN), (branch) => branch.call(child, {})]);
      },
    });
    const world = testAgents(parent, { agents: [child], storage: await open(), deliverTwice: true });
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    await run.cancel();
    expect(await run.status()).toBe('CANCELLED');
    expect(actions).toEqual(['pay', 'unpay']);
    expect(await world.run('r.both[1]/child').status()).toBe('CANCELLED');
    const at = await world.agent.runtime.contexts.forRun('r');
    expect(await viewApproval(at, 'both[0]/ask')).toMatchObject({ status: 'WITHDRAWN' });
  });
});
