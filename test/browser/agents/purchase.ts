// An agent for the browser tests that requests an approval as its input says.
import { readFileSync } from 'node:fs';
import { agent } from 'waitstate';
import type { Approver } from '../../../lambda/core/approval.ts';

export interface Purchase {
  readonly item: string;
  readonly price: number;
  readonly approvers?: readonly Approver[];
  readonly quorum?: number;
  readonly timeoutSeconds?: number;
  readonly editable?: boolean;
  readonly show?: unknown;
  /** A file with the price at the time of the approval. */
  readonly priceFile?: string;
}

export const purchase = agent({
  name: 'purchase',
  state: { initial: ({ item, price }: Purchase) => ({ item, price, paid: 0 }) },
  async run(ctx, input: Purchase) {
    const { priceFile, approvers = ['user:ann'], quorum = 1, editable = false, timeoutSeconds = 3600 } = input;
    await ctx.step('find a seller', () => ({ seller: 'Tools & Sons', item: input.item }));
    const decision = await ctx.approval<{ price: number }, { price: number }>('buy', {
      title: ({ price }) => `Buy ${input.item} for $${price}?`,
      show: input.show ?? { item: input.item, seller: 'Tools & Sons' },
      facts: { price: input.price },
      ...(priceFile && { recheck: () => ({ price: Number(readFileSync(priceFile, 'utf8')) }) }),
      timeout: { seconds: timeoutSeconds },
      approvers,
      quorum,
      editable,
    });
    if (!decision.approved) return { bought: false, reason: decision.comment ?? decision.status };
    const price = decision.edits?.price ?? decision.facts.price;
    await ctx.step('pay', () => ({ paid: price }));
    await ctx.update((draft) => {
      draft.paid = price;
    });
    return { bought: true, price, by: decision.by };
  },
});
