// Refunds an order when two people in finance approve; they may lower the amount. Approvers get a reminder after 12 hours,
// a manager is added after a day, and after three days the refund is rejected. The shop, its bank and the mail are simulated.
import { agent } from 'waitstate';
import { z } from 'zod';
import { sendMail } from '../simulated/mail.ts';
import { refundRows, shop } from './shop.ts';

interface RefundRequest {
  order: string;
  reason: string;
}

/** The DynamoDB table of the shop on AWS. On one machine, there is none. */
const { EXAMPLES_TABLE: table } = process.env;

export const refunds = agent({
  name: 'refunds',
  description: 'Pays a refund when two people in finance approve; sends reminders and escalates until then.',
  example: { order: 'o-17', reason: 'The left side is silent.' },
  transact: table !== undefined,

  async run(ctx, request: RefundRequest) {
    const order = await ctx.step('find order', () => shop.find(request.order));

    const decision = await ctx.approval('refund', {
      title: `Refund $${order.total} to ${order.customer}?`,
      show: { order: order.id, bought: order.bought, reason: request.reason },
      facts: { amount: order.total },
      approvers: ['group:finance'],
      quorum: 2,
      editable: z.object({ amount: z.number().positive().max(order.total, `at most $${order.total}`) }),
      remindAfter: { hours: 12 },
      escalateTo: ['user:manager'],
      escalateAfter: { days: 1 },
      timeout: { days: 3 },
    });
    if (!decision.approved) return { refunded: false, reason: decision.comment ?? decision.status };

    // If the process dies after the payment, the step runs again with the same key, and the bank pays only once. On AWS,
    // the transaction that records the step also writes the rows of the refund, so the stock counts it once.
    const amount = decision.edits?.amount ?? order.total;
    const paid = await ctx.step('pay', ({ idempotencyKey }) => shop.refund(order, amount, idempotencyKey), {
      retry: { maxAttempts: 5, initialDelay: { seconds: 2 } },
      ...(table && { transact: (paid: number) => refundRows(table, order, paid, ctx.run) }),
    });
    await ctx.step('notify customer', ({ idempotencyKey }) =>
      sendMail({
        key: idempotencyKey,
        to: order.customer,
        subject: `Your order ${order.id}`,
        text: `You get $${paid} back.`,
      }),
    );
    return { refunded: true, paid, approvedBy: decision.by };
  },

  /** The members of a group; each gets their own approval link. In production, ask your directory. */
  members: (group) => (group === 'group:finance' ? ['user:ann', 'user:bob'] : []),

  /** Sends requests, reminders and escalations. A link decides as its person, so send it to that person only. */
  async notify({ kind, title, links }) {
    for (const { person, url } of links)
      await sendMail({ key: url, to: person, subject: `${SUBJECTS[kind]}: ${title}`, text: url });
  },
});

const SUBJECTS = {
  requested: 'Please decide',
  proposed: 'Changes were proposed',
  reminder: 'Reminder',
  escalated: 'Still undecided',
};

/** The Lambda function. */
export const handler = refunds.handler();
