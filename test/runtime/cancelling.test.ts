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

const ANN = { title: 'Go on?', approvers: ['user:ann'] };

const waits = {
  WAITING_FOR_APPROVAL: (ctx: AgentContext) => ctx.approval('ask', ANN),
  WAITING_FOR_SIGNAL: (ctx: AgentContext) => ctx.waitForSignal('go'),
  SLEEPING: (ctx: AgentContext) => ctx.sleep('night', { hours: 8 }),
};

/** Books, waits in one of the ways, and writes down what it did. */
function booking(wait: (ctx: AgentContext) => Promise<unknown>) {
  const did: string[] = [];
  const travel = agent({
    name: 'travel',
    async run(ctx, input: { undoes: boolean }) {
      const undo = input.undoes && { undo: (result: string) => void did.push(`un${result}`) };
      for (const what of ['flight', 'hotel']) {
        await ctx.step(
          what,
          () => {
            did.push(what);
            return what;
          },
          undo || {},
        );
      }
      await wait(ctx);
      did.push('went on');
      return 'travelled';
    },
  });
  return { travel, did };
}

describe.each(Object.entries(waits))('cancelling a run that is %s', (status, wait) => {
  it('ends it at once when there is nothing to undo', async () => {
    const { travel, did } = booking(wait);
    const world = testAgents(travel);
    const run = await world.start({ undoes: false }, { id: 'r' });
    expect(await run.status()).toBe(status);
    expect(await run.cancel('Changed her mind.')).toBe('CANCELLED');
    expect(world.invocations).toHaveLength(1);
    expect(did).toEqual(['flight', 'hotel']);
    const failure = await run.result().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'RUN_CANCELLED', message: expect.stringContaining('Changed her mind.') });
    await world.skip({ days: 1 });
    expect(did).toEqual(['flight', 'hotel']);
  });

  it('wakes it to undo what it did, the last first, each once though processes die', async () => {
    const { travel, did } = booking(wait);
    const world = testAgents(travel, { deliverTwice: true });
    const run = await world.start({ undoes: true }, { id: 'r' });
    world.crash({ recorded: '@undo:hotel' });
    expect(await run.cancel()).toBe('ENDING');
    expect(await run.status()).toBe('CANCELLED');
    expect(did).toEqual(['flight', 'hotel', 'unhotel', 'unflight']);
    const kinds = (await run.checkpoints()).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'cancel')).toHaveLength(1);
  });
});

describe('cancelling', () => {
  it('a run that nobody has begun ends it, and the agent never runs', async () => {
    const { travel, did } = booking(waits.SLEEPING);
    const world = testAgents(travel);
    const run = await world.agent.start({ undoes: true }, { id: 'r' });
    expect(await run.cancel()).toBe('CANCELLED');
    await world.settle();
    expect(world.invocations).toEqual([{ end: 'skipped', reason: 'ended' }]);
    expect(did).toEqual([]);
  });

  it('twice is once', async () => {
    const { travel, did } = booking(waits.WAITING_FOR_SIGNAL);
    const world = testAgents(travel);
    const run = await world.start({ undoes: true }, { id: 'r' });
    const both = await Promise.all([world.agent.run('r').cancel('one'), world.agent.run('r').cancel('two')]);
    expect(both).toEqual(['ENDING', 'ENDING']);
    await world.settle();
    expect(await run.cancel('three')).toBe('CANCELLED');
    expect((await run.checkpoints()).filter(({ kind }) => kind === 'cancel')).toHaveLength(1);
    expect(did).toEqual(['flight', 'hotel', 'unhotel', 'unflight']);
  });

  it('a run that has succeeded changes nothing', async () => {
    const world = testAgents(agent({ name: 'quick', run: () => 1 }));
    const run = await world.start({}, { id: 'r' });
    const before = await run.checkpoints();
    expect(await run.cancel()).toBe('SUCCEEDED');
    expect(await run.checkpoints()).toEqual(before);
    expect(await run.result()).toBe(1);
  });

  it('an unknown run is RUN_NOT_FOUND, and a reason that is no text is refused', async () => {
    const { run } = testAgents(agent({ name: 'quick', run: () => 1 }));
    await expect(run('nobody').cancel()).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(run('nobody').cancel('x'.repeat(2001))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('withdraws open approvals in the transaction that takes the next version', async () => {
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
      withdrawnBecause: 'The run is CANCELLED.',
    });
    expect(await run.approvals()).toEqual([]);
    await expect(run.decide({ approval: 'two', by: 'user:ann', answer: 'approve' })).rejects.toMatchObject({
      code: 'APPROVAL_WITHDRAWN',
    });
  });

  it('while a step runs records what it gave, undoes it, and begins nothing more', async () => {
    const [began, finish] = [gate(), gate()];
    const did: string[] = [];
    const busy = agent({
      name: 'busy',
      async run(ctx) {
        await ctx.step(
          'pay',
          async () => {
            began.open();
            await finish.loaded;
            did.push('paid');
            return 12;
          },
          { undo: (amount) => void did.push(`gave back ${amount}`) },
        );
        await ctx.step('next', () => void did.push('next'));
      },
    });
    const world = testAgents(busy);
    await world.agent.start({}, { id: 'r' });
    const settled = world.settle();
    await began.loaded;
    expect(await world.agent.run('r').cancel('stop')).toBe('ENDING');
    finish.open();
    await settled;
    const run = world.run('r');
    expect(await run.status()).toBe('CANCELLED');
    expect(did).toEqual(['paid', 'gave back 12']);
    await expect(run.result()).rejects.toThrow('was cancelled: stop');
    const all = await run.checkpoints();
    expect(all.map(({ kind, step }) => step ?? kind)).toEqual(['save', 'claim', 'cancel', 'pay', 'save', 'save']);
    expect(world.invocations).toHaveLength(1);
  });

  it('while a step runs that the agent did not wait for ends the run all the same', async () => {
    const [began, finish] = [gate(), gate()];
    const careless = agent({
      name: 'careless',
      async run(ctx) {
        void ctx.step('work', async () => {
          began.open();
          await finish.loaded;
        });
        return 'returned';
      },
    });
    const world = testAgents(careless);
    await world.agent.start({}, { id: 'r' });
    const before = world.clock.now();
    const settled = world.settle();
    await began.loaded;
    await world.agent.run('r').cancel();
    finish.open();
    await settled;
    expect(await world.run('r').status()).toBe('CANCELLED');
    expect(world.invocations).toHaveLength(1);
    expect(world.clock.now()).toBe(before);
  });

  it('a run whose process has died leads to its end in the next one', async () => {
    const { travel, did } = booking(waits.SLEEPING);
    const world = testAgents(travel, { storage: memoryStorage() });
    await world.agent.start({ undoes: true }, { id: 'r' });
    const until = world.clock.now() + 60_000;
    // A process that claims the run and is never heard of again.
    const crashed = travel.with({
      ...otherProcessOptions(world),
      probe: (moment) => (moment === 'recorded' ? 'crash' : undefined),
    });
    expect(await crashed.invoke({ run: 'r' }, { by: 'dead', until })).toMatchObject({ end: 'failed' });
    expect(await world.agent.run('r').cancel()).toBe('ENDING');
    expect(did).toEqual(['flight']);
    await world.skip({ minutes: 3 });
    expect(await world.run('r').status()).toBe('CANCELLED');
    expect(did).toEqual(['flight', 'unflight']);
  });
});

describe('cancelling at the moment when', () => {
  it('somebody approves: the approval stays approved, and the run is cancelled', async () => {
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'CANCELLED');
    const world = testAgents(agent({ name: 'asking', run: (ctx) => ctx.approval('ask', ANN) }), { storage });
    const run = await world.start({}, { id: 'r' });
    storage.happens.event = () => world.agent.run('r').decide({ approval: 'ask', by: 'user:ann', answer: 'approve' });
    await run.cancel();
    expect(storage.happens.event).toBeUndefined();
    expect(await run.status()).toBe('CANCELLED');
    const at = await world.agent.runtime.contexts.forRun('r');
    expect(await viewApproval(at, 'ask')).toMatchObject({ status: 'APPROVED' });
  });

  it('somebody approves, and the cancel is first: the approver is told that it was withdrawn', async () => {
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'READY');
    const world = testAgents(agent({ name: 'asking', run: (ctx) => ctx.approval('ask', ANN) }), { storage });
    const run = await world.start({}, { id: 'r' });
    storage.happens.event = () => world.agent.run('r').cancel();
    const decided = run.decide({ approval: 'ask', by: 'user:ann', answer: 'approve' });
    await expect(decided).rejects.toMatchObject({ code: 'APPROVAL_WITHDRAWN' });
    expect(await run.status()).toBe('CANCELLED');
  });

  it('the run ends: the first of the two holds, and if it is the cancel, what was done is undone', async () => {
    const did: string[] = [];
    const quick = agent({
      name: 'quick',
      run: (ctx) => ctx.step('pay', () => void did.push('paid'), { undo: () => void did.push('unpaid') }),
    });
    const first = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'SUCCEEDED');
    const world = testAgents(quick, { storage: first });
    first.happens.event = () => world.agent.run('r').cancel();
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('CANCELLED');
    expect(did).toEqual(['paid', 'unpaid']);

    did.length = 0;
    const storage = memoryStorage();
    const second = withEventBefore(storage, (writes) => headIn(writes)?.status === 'CANCELLED');
    const ending = testAgents(quick, { storage });
    await ending.agent.start({}, { id: 'r' });
    second.happens.event = () => ending.settle();
    const late = quick.with({ storage: second, clock: ending.clock, log: () => {} });
    expect(await late.run('r').cancel()).toBe('SUCCEEDED');
    expect(did).toEqual(['paid']);
  });

  it('it fails and all is undone: it is cancelled in the same invocation, and nothing is undone twice', async () => {
    const did: string[] = [];
    const child = agent({ name: 'child', run: (ctx) => ctx.sleep('long', { days: 9 }) });
    const failing = agent({
      name: 'failing',
      async run(ctx) {
        await ctx.step('pay', () => void did.push('paid'), { undo: () => void did.push('unpaid') });
        const undo = () => Promise.reject(new Error('no answer'));
        await ctx.step('book', () => void did.push('booked'), { undo, retry: { attempts: 1 } });
        await ctx.all('both', [(branch) => branch.call(child, {}), () => Promise.reject(new Error('failed'))]);
      },
    });
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'FAILED');
    const world = testAgents(failing, { storage, agents: [child] });
    storage.happens.event = () => world.agent.run('r').cancel('Changed her mind.');
    const run = await world.start({}, { id: 'r' });
    expect(storage.happens.event).toBeUndefined();
    expect(world.invocations.filter(({ end }) => end === 'failed')).toEqual([]);
    expect(await run.status()).toBe('CANCELLED');
    expect(did).toEqual(['paid', 'booked', 'unpaid']);
    await expect(run.result()).rejects.toThrow('was cancelled: Changed her mind.');
    const all = await run.checkpoints();
    expect(all.filter(({ kind }) => kind === 'claim')).toHaveLength(1);
    expect(all.at(-1)?.toolResults['@error']).toMatchObject({ notUndone: ['book: no answer'] });
    expect(await world.run('r.both[0]/child').status()).toBe('CANCELLED');
  });

  it('what it undoes has to wait: it waits on, without a process', async () => {
    const did: string[] = [];
    const failing = agent({
      name: 'failing',
      async run(ctx) {
        await ctx.step('pay', () => void did.push('paid'), {
          undo: (_, { attempt }) => {
            if (attempt === 1) throw new RetryableError('busy', { retryAfter: { hours: 2 } });
            did.push('unpaid');
          },
        });
        throw new Error('failed');
      },
    });
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.work?.rests === true);
    const world = testAgents(failing, { storage });
    storage.happens.event = () => world.agent.run('r').cancel();
    const before = world.clock.now();
    const run = await world.start({}, { id: 'r' });
    expect(storage.happens.event).toBeUndefined();
    expect(world.invocations).toEqual([{ end: 'suspended', status: 'ENDING' }]);
    expect(world.clock.now()).toBe(before);
    await world.skip({ hours: 3 });
    expect(await run.status()).toBe('CANCELLED');
    expect(did).toEqual(['paid', 'unpaid']);
  });

  /** An `undo` that has to wait for two hours first, and what was done. */
  function busyUndo() {
    const did: string[] = [];
    const undo = (_: unknown, { attempt }: { attempt: number }) => {
      if (attempt === 1) throw new RetryableError('busy', { retryAfter: { hours: 2 } });
      did.push('unpaid');
    };
    return { did, undo, pay: () => void did.push('paid') };
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
  ])('a %s agent ends and its undo must wait: the run suspends without a process', async (_, open) => {
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'SUCCEEDED');
    const paying = busyUndo();
    const world = open(storage, paying);
    storage.happens.event = () => world.agent.run('r').cancel();
    const before = world.clock.now();
    const run = await world.start({}, { id: 'r' });
    expect(storage.happens.event).toBeUndefined();
    expect(world.invocations).toEqual([{ end: 'suspended', status: 'ENDING' }]);
    expect(world.clock.now()).toBe(before);
    await world.skip({ hours: 3 });
    expect(await run.status()).toBe('CANCELLED');
    expect(paying.did).toEqual(['paid', 'unpaid']);
  });

  it('it suspends: the suspend finds the cancel', async () => {
    const { travel, did } = booking(waits.SLEEPING);
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'SLEEPING');
    const world = testAgents(travel, { storage });
    storage.happens.event = () => world.agent.run('r').cancel();
    const run = await world.start({ undoes: true }, { id: 'r' });
    expect(await run.status()).toBe('CANCELLED');
    expect(did).toEqual(['flight', 'hotel', 'unhotel', 'unflight']);
    expect(world.invocations).toHaveLength(1);
  });

  it('it asks people: the question is never asked, or withdrawn', async () => {
    const storage = withEventBefore(memoryStorage(), (writes) => headIn(writes)?.status === 'WAITING_FOR_APPROVAL');
    const world = testAgents(agent({ name: 'asking', run: (ctx) => ctx.approval('ask', ANN) }), { storage });
    storage.happens.event = () => world.agent.run('r').cancel();
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

  it('cancels them too, however deep, also where there is nothing to undo', async () => {
    const top = agent({ name: 'top', run: (ctx) => ctx.call(middle, {}) });
    const world = testAgents(top, { agents: [middle, sleeper] });
    const run = await world.start({}, { id: 'r' });
    expect(await world.run('r.middle.sleeper').status()).toBe('SLEEPING');
    await run.cancel();
    for (const id of ['r', 'r.middle', 'r.middle.sleeper']) expect(await world.run(id).status()).toBe('CANCELLED');
  });

  it('leaves alone those that had ended', async () => {
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

  it('cancels them when the run times out or fails, too', async () => {
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

  it('tells the parent when it is the child that was cancelled', async () => {
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

describeOnEachStorage('cancelling', (open) => {
  it('undoes what was done, withdraws what is asked, and cancels children', async () => {
    const did: string[] = [];
    const child = agent({ name: 'child', run: (ctx) => ctx.sleep('long', { days: 9 }) });
    const parent = agent({
      name: 'parent',
      async run(ctx) {
        await ctx.step('pay', () => void did.push('pay'), { undo: () => void did.push('unpay') });
        await ctx.all('both', [(branch) => branch.approval('ask', ANN), (branch) => branch.call(child, {})]);
      },
    });
    const world = testAgents(parent, { agents: [child], storage: await open(), deliverTwice: true });
    const run = await world.start({}, { id: 'r' });
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
    await run.cancel();
    expect(await run.status()).toBe('CANCELLED');
    expect(did).toEqual(['pay', 'unpay']);
    expect(await world.run('r.both[1]/child').status()).toBe('CANCELLED');
    const at = await world.agent.runtime.contexts.forRun('r');
    expect(await viewApproval(at, 'both[0]/ask')).toMatchObject({ status: 'WITHDRAWN' });
  });
});
