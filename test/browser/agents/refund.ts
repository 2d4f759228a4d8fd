// An agent for the browser tests that pays when two members of a group approve, and writes each payment to a file.
import { appendFileSync } from 'node:fs';
import { agent } from 'waitstate';

export interface Refund {
  readonly amount: number;
  /** A file that gets a line for each payment. */
  readonly paidFile: string;
}

export const refund = agent({
  name: 'refund',
  members: (group) => (group === 'group:finance' ? ['user:ann', 'user:bob'] : []),
  async run(ctx, { amount, paidFile }: Refund) {
    const decision = await ctx.approval<{ amount: number }, { amount: number }>('pay', {
      title: `Pay back $${amount}?`,
      facts: { amount },
      approvers: ['group:finance'],
      quorum: 2,
      editable: true,
    });
    if (!decision.approved) return { paid: 0 };
    const paid = decision.edits?.amount ?? amount;
    await ctx.step('pay', () => appendFileSync(paidFile, `${paid}\n`));
    return { paid, by: decision.by };
  },
});
