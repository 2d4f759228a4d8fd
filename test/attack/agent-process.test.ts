import { describe, expect, it } from 'vitest';
import { projectOf, serverOf } from '../cli/dev/scene.ts';

const AGENT = `
  import { agent } from 'waitstate';
  for (const message of [null, 'ready', 7, {}, { waitstate: 7 }, []]) process.send?.(message);
  export const odd = agent({
    name: 'odd',
    async run(ctx) {
      for (const message of [null, 'ready', 7, {}, { waitstate: 'nonsense' }]) process.send?.(message);
      return 'done';
    },
  });
`;

describe('an agent process', () => {
  it('does not stop the server by sending malformed messages', async () => {
    const server = serverOf(projectOf({ 'odd.ts': AGENT }), ['odd.ts']);
    await server.ready();
    expect(await server.becomes(await server.start('odd'), 'SUCCEEDED')).toMatchObject({ result: 'done' });
  });

  it('receives runs whose ids contain control characters, quotes or option names', async () => {
    const server = serverOf(projectOf({ 'odd.ts': AGENT }), ['odd.ts']);
    await server.ready();
    for (const id of ['a\0zero', '--inspect-brk', '-e', 'a\nline', "quote's", '$(x)', '.'])
      await server.start('odd', null, id);
    for (const path of ['~a~00zero', '--inspect-brk', '-e', '~a~0Aline', '~quote~27s', '~~24~28x~29', '~~2E'])
      await server.becomes(path, 'SUCCEEDED');
  });
});
