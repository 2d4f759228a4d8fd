// Refunds an order when two people of finance agree; they may pay less. Who does not answer is reminded, then a manager is
// asked too, and after three days the answer is no. The shop, its bank and the mail are simulated.
import { agent } from 'waitstate';
import { z } from 'zod';
import { sendMail } from '../simulated/mail.ts';
import { shop } from './shop.ts';

interface RefundRequest {
  order: string;
  reason: string;
}

export const refunds = agent({
  name: 'refunds',

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
    if (!decision.approved) return { refunded: false, because: decision.comment ?? decision.status };

    // When the process dies after the payment, the next one pays again under the same key: the bank pays once.
    const amount = decision.edits?.amount ?? order.total;
    const paid = await ctx.step('pay', ({ idempotencyKey }) => shop.refund(order, amount, idempotencyKey), {
      retry: { attempts: 5, pause: { seconds: 2 } },
    });
    await ctx.step('tell customer', ({ idempotencyKey }) =>
      sendMail({
        key: idempotencyKey,
        to: order.customer,
        subject: `Your order ${order.id}`,
        text: `You get $${paid} back.`,
      }),
    );
    return { refunded: true, paid, approvedBy: decision.by };
  },

  /** Who is in a group: each gets a link of their own. In earnest this asks a directory. */
  members: (group) => (group === 'group:finance' ? ['user:ann', 'user:bob'] : []),

  /** Called when people are asked, reminded, or asked too. Whoever has a link decides as its owner: mail it to them only. */
  async notify({ kind, title, links }) {
    for (const { person, url } of links)
      await sendMail({ key: url, to: person, subject: `${SUBJECTS[kind]}: ${title}`, text: url });
  },
});

const SUBJECTS = { asked: 'Please decide', reminder: 'Reminder', escalation: 'Nobody decided yet' };

/** The Lambda function. */
export const handler = refunds.handler();

export const description = 'Pays a refund when two people of finance agree; reminds and escalates until they do.';

export const example: RefundRequest = { order: 'o-17', reason: 'The left side is silent.' };
