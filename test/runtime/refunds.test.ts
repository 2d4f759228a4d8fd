import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/index.ts';
import { testAgents } from '../../lambda/testing.ts';

interface RefundRequest {
  readonly orderId: string;
}

interface Order {
  readonly id: string;
  readonly customer: string;
}

interface Refunding {
  readonly messages: readonly string[];
  readonly order: Order | undefined;
}

let price = 40;
const paid: { amount: number; idempotencyKey: string }[] = [];
const orders = { find: async (id: string): Promise<Order> => ({ id, customer: 'Ann' }) };
const payments = {
  refund: async (_: Order, amount: number, { idempotencyKey }: { idempotencyKey: string }) =>
    void paid.push({ amount, idempotencyKey }),
};
const priceRefund = async (_: { order: string }) => ({ amount: price });
const migrations = { 1: (state: object) => ({ ...state, messages: [] }) };

const refunds = agent({
  name: 'refunds',
  state: { version: 2, initial: (_: RefundRequest): Refunding => ({ messages: [], order: undefined }), migrations },
  async run(ctx, input) {
    const order = await ctx.step('find order', () => orders.find(input.orderId));
    const quote = await ctx.tool('price_refund', { order: order.id }, priceRefund, { cache: { hours: 1 } });
    const decision = await ctx.approval('refund', {
      title: (facts) => `Refund ${facts.amount} to ${order.customer}?`,
      show: quote,
      approvers: ['group:finance'],
      quorum: 1,
      timeout: { days: 3 },
      remindAfter: { hours: 24 },
      escalateTo: ['group:leads'],
      onTimeout: 'reject',
      facts: { amount: quote.amount },
      recheck: async () => ({ amount: (await priceRefund({ order: order.id })).amount }),
    });
    if (!decision.approved) return { refunded: false, reason: decision.comment };
    const { amount } = decision.facts;
    await ctx.step('pay', ({ idempotencyKey }) => payments.refund(order, amount, { idempotencyKey }), {
      retry: { maxAttempts: 5 },
    });
    return { refunded: true };
  },
});

describe('the refund agent', () => {
  it('pays the approved amount once when the price changed after the first approval', async () => {
    price = 40;
    paid.length = 0;
    const world = testAgents(refunds);
    const run = await world.start({ orderId: 'o-17' }, { id: 'refund-o-17' });
    expect(await run.approvals()).toMatchObject([{ title: 'Refund 40 to Ann?', quorum: 1 }]);
    price = 55;
    await run.approve('refund');
    expect(await run.approvals()).toMatchObject([
      { title: 'Refund 55 to Ann?', changed: { before: { amount: 40 }, after: { amount: 55 } } },
    ]);
    world.crash({ after: 'pay' });
    await run.approve('refund');
    expect(await run.result()).toEqual({ refunded: true });
    expect(paid.map(({ amount }) => amount)).toEqual([55, 55]);
    expect(new Set(paid.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
  });

  it('sends reminders, escalates, and treats an expired approval as rejected', async () => {
    const world = testAgents(refunds);
    const run = await world.start({ orderId: 'o-18' });
    await world.skip({ days: 4 });
    expect(await run.result()).toEqual({ refunded: false, reason: undefined });
    expect(world.notifications.map(({ kind }) => kind)).toEqual(['requested', 'reminder', 'escalated', 'reminder']);
  });

  it('starts one run per id', async () => {
    const world = testAgents(refunds);
    const [first, second] = [
      await world.start({ orderId: 'o-19' }, { id: 'r' }),
      await world.start({ orderId: 'o-19' }, { id: 'r' }),
    ];
    expect(second.id).toBe(first.id);
    expect((await first.checkpoints()).filter(({ step }) => step === 'find order')).toHaveLength(1);
  });
});
