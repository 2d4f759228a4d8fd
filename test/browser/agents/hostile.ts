// An agent whose texts all try to become markup or script in the console.
import { agent, FatalError } from 'waitstate';
import { hostile, hostileHtml, hostileId, hostileSvg, hostileUrl } from '../hostile-texts.ts';

export const hostileAgent = agent({
  name: hostileId('agent'),
  state: {
    initial: (input: unknown) => ({
      [hostile('state key')]: hostile('state value'),
      url: hostileUrl('state url'),
      input,
      messages: [
        { role: hostile('role'), content: hostile('message') },
        { role: 'user', content: [{ type: 'text', text: hostile('part') }, { text: hostile('converse') }] },
        {
          role: 'assistant',
          content: [{ toolUse: { name: hostile('tool use'), input: { a: hostile('tool input') } } }],
        },
      ],
      count: 0,
    }),
  },
  async run(ctx) {
    await ctx.step(hostileId('step'), () => hostile('step result'));
    await ctx.tool(hostileId('tool'), { [hostile('argument')]: hostile('argument value') }, () => ({
      page: ctx.payload(hostileHtml('result page'), { type: 'text/html', digest: hostile('digest') }),
    }));
    await ctx.update((draft) => {
      draft.count = 1;
      draft[hostile('added key')] = hostile('added value');
    });
    await ctx.checkpoint(hostileId('checkpoint'));
    const decision = await ctx.approval(hostileId('approval'), {
      title: hostile('title'),
      show: {
        [hostile('show key')]: hostile('show value'),
        link: hostileUrl('show url'),
        markdown: `[click](${hostileUrl('markdown')}) <b onclick=__xss('markdown')>x</b>`,
        table: [{ [hostile('column')]: hostile('cell') }, { [hostile('column')]: 2 }],
        code: { language: hostileId('language'), code: hostile('code') },
        diff: `--- a/${hostile('diff')}\n+++ b/x\n@@ -1 +1 @@\n-${hostile('before')}\n+${hostile('after')}`,
        page: ctx.payload(hostileHtml('page'), { type: 'text/html', digest: hostile('page digest') }),
        drawing: ctx.payload(hostileSvg('drawing'), { type: 'image/svg+xml' }),
        picture: ctx.payload(hostileHtml('picture'), { type: 'image/png' }),
        odd: ctx.payload(hostileHtml('odd'), { type: `text/html\r\nx-planted: yes ${hostileId('type')}` }),
      },
      facts: { [hostile('fact')]: hostile('fact value'), link: hostileUrl('fact url') },
      approvers: ['user:ann', `user:${hostileId('approver')}`, `group:${hostileId('group')}`],
      editable: true,
      timeout: { hours: 1 },
    });
    await ctx.waitForSignal(hostileId('signal'));
    throw new FatalError(hostile(`error after ${decision.comment}`));
  },
});
