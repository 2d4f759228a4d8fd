// An agent with a large result, a sleep, an approval and a payment. It records its side effects in /tmp.
import { appendFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agent } from 'waitstate';

interface Order {
  readonly item: string;
}

export const orders = agent({
  name: 'orders',
  state: { initial: ({ item }: Order) => ({ item, note: 'PLAIN-STATE' }) },

  async run(ctx, { item }) {
    const offer = await ctx.step('offer', () => {
      note('offers', item);
      return { price: 12, sheet: sheetOf(item) };
    });
    await ctx.checkpoint('offered');
    await ctx.sleep('think it over', { days: 2 });
    const decision = await ctx.approval('buy', {
      title: `PLAIN-TITLE: buy ${item}?`,
      show: offer,
      approvers: ['user:ann', 'user:bob'],
      remindAfter: { days: 1 },
      timeout: { days: 3 },
    });
    if (!decision.approved) return { bought: false };
    await ctx.step('buy', () => note('bought', item));
    return { bought: true, letters: offer.sheet.length, reason: decision.comment };
  },

  notify: ({ kind, links }) => note('mail', { kind, links }),
});

export const handler = orders.handler();

/** 20 KB of text that compression does not shrink enough. */
function sheetOf(item: string): string {
  let seed = 1;
  const digit = () => {
    seed = (seed * 48_271) % 0x7fffffff;
    return (seed % 36).toString(36);
  };
  return `PLAIN-SHEET of ${item} ${Array.from({ length: 20_000 }, digit).join('')}`;
}

function note(what: string, line: unknown): void {
  appendFileSync(join(tmpdir(), `${what}.jsonl`), `${JSON.stringify(line)}\n`);
}
