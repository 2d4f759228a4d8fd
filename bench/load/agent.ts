// An agent that costs next to nothing, for the load: it asks, and writes down what it did, so that it can be counted.
import { appendFileSync } from 'node:fs';
import { agent } from 'waitstate';

/** Writes one line in one call, so that lines of processes do not mix. */
const done = (what: string): void => appendFileSync(process.env.LOAD_EFFECTS ?? '/dev/null', `${what}\n`);

export const load = agent({
  name: 'load',
  async run(ctx, input: { readonly note: string }) {
    await ctx.step('begin', () => done(`begin ${ctx.run}`));
    const { approved } = await ctx.approval('go', {
      title: `Go on with ${ctx.run}?`,
      show: input,
      approvers: ['user:ann'],
      timeout: { hours: 1 },
    });
    await ctx.step('finish', () => done(`${approved ? 'approved' : 'rejected'} ${ctx.run}`));
    return approved;
  },
});
