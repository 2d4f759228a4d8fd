import { expect, it } from 'vitest';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { testAgents } from '../../lambda/testing.ts';

const calls: string[] = [];

const pricing = agent({
  name: 'pricing',
  async run(ctx, input: { amount: number }) {
    return ctx.step('price', () => input.amount * 2);
  },
});

const refunds = agent({
  name: 'refunds',
  state: { initial: (input: { order: string }) => ({ notes: [] as string[], order: input.order }) },
  async run(ctx, input) {
    const order = await ctx.step('find order', () => {
      calls.push('find');
      return { id: input.order, amount: 12 };
    });
    await ctx.update((draft) => void draft.notes.push('found'));
    const prices = await ctx.map('prices', [1, 2, 3], (branch, n) =>
      branch.tool('price', { n }, (args) => args.n * 10),
    );
    const price = await ctx.call(pricing, { amount: order.amount });
    const decision = await ctx.approval('refund', {
      title: 'Refund?',
      approvers: ['group:finance'],
      timeout: { days: 3 },
    });
    if (!decision.approved) return { refunded: false };
    await ctx.step('pay', () => void calls.push('pay'), { undo: () => void calls.push('unpay') });
    await ctx.sleep('cool down', { hours: 1 });
    const go = await ctx.waitForSignal('go');
    if (go === 'fail') throw new Error('told to fail');
    return { refunded: true, prices, price, go, notes: ctx.state.notes };
  },
});

it('an agent runs from start to end, over waits and crashes', async () => {
  calls.length = 0;
  const world = testAgents(refunds, { agents: [pricing] });
  world.crash({ after: 'find order' });
  const run = await world.start({ order: 'o-1' }, { id: 'r' });
  expect(await run.status()).toBe('WAITING_FOR_APPROVAL');
  world.crash({ recorded: 'pay' });
  await run.approve('refund');
  expect(await run.status()).toBe('SLEEPING');
  await run.signal('go', 'on');
  await world.skip({ hours: 2 });
  expect(await run.result()).toEqual({ refunded: true, prices: [10, 20, 30], price: 24, go: 'on', notes: ['found'] });
  expect(calls).toEqual(['find', 'find', 'pay']);
});

it('an agent undoes its steps when it fails and when it is cancelled', async () => {
  calls.length = 0;
  const world = testAgents(refunds, { agents: [pricing] });
  const run = await world.start({ order: 'o-1' }, { id: 'r' });
  await run.approve('refund');
  await run.signal('go', 'fail');
  await world.skip({ hours: 1 });
  expect(await run.status()).toBe('FAILED');
  expect(calls).toEqual(['find', 'pay', 'unpay']);
  const other = await world.start({ order: 'o-1' }, { id: 's' });
  await other.approve('refund');
  await other.cancel('no more');
  expect(await other.status()).toBe('CANCELLED');
  expect(calls).toEqual(['find', 'pay', 'unpay', 'find', 'pay', 'unpay']);
  await run.retry();
  expect(await run.status()).toBe('FAILED');
  expect(calls.slice(6)).toEqual(['pay', 'unpay']);
});
