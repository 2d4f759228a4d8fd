// Streams a text word by word, until the test lets it finish.
import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { agent } from 'waitstate';

export const writer = agent({
  name: 'writer',
  async run(ctx, input: { readonly stopFile: string }) {
    ctx.emit({ phase: 'writing' });
    await ctx.step('write', async ({ stream }) => {
      stream('<b>Dear</b> customers, ');
      for (let word = 1; !existsSync(input.stopFile); word++) {
        stream(`word-${word} `);
        await pause(100);
      }
      return 'the end';
    });
    await ctx.waitForSignal('go');
  },
});
