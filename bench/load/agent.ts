// The agent of the load test: it requests an approval, and records its side effects in a file so that they can be counted.
import { appendFileSync } from 'node:fs';
import { agent } from 'waitstate';

/** Appends one line in one call, so that lines of concurrent processes do not mix. */
const recordEffect = (what: string): void => appendFileSync(process.env.LOAD_EFFECTS ?? '/dev/null', `${what}\n`);

export const load = agent({
  name: 'load',
  async run(ctx, input: { readonly note: string }) {
    await ctx.step('begin', () => recordEffect(`begin ${ctx.run}`));
    const { approved } = await ctx.approval('go', {
      title: `Continue ${ctx.run}?`,
      show: input,
      approvers: ['user:ann'],
      timeout: { hours: 1 },
    });
    await ctx.step('finish', () => recordEffect(`${approved ? 'approved' : 'rejected'} ${ctx.run}`));
    return approved;
  },
});
