import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/index.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { testAgents } from '../../lambda/testing.ts';
import { freshFolder, runIn } from './scene.ts';

const EVIL = '\u001b[2J\u001b]0;pwned\u0007\u009b31m\r\u202e\u200b\b';

/** A run whose names and texts all contain control characters. */
async function scene() {
  const folder = freshFolder();
  const hostile = agent({
    name: `agent${EVIL}`,
    state: { initial: (): Record<string, unknown> => ({ [`key${EVIL}`]: `value${EVIL}` }) },
    async run(ctx) {
      await ctx.step(`step${EVIL}`, () => `result${EVIL}`);
      await ctx.update((draft) => {
        draft[`key${EVIL}`] = `changed${EVIL}\nand more${EVIL}`;
        draft[`new${EVIL}`] = [`item${EVIL}`];
      });
      const { approved } = await ctx.approval(`ask${EVIL}`, {
        title: `title${EVIL}`,
        show: { [`shown${EVIL}`]: [`text${EVIL}`, { deep: EVIL }] },
        facts: { [`fact${EVIL}`]: EVIL },
        approvers: [`user:ann${EVIL}`, 'user:ann'],
      });
      if (approved) throw new Error(`error${EVIL}`);
      await ctx.waitForSignal(`signal${EVIL}`);
    },
  });
  const world = testAgents(hostile, { storage: embeddedStorage({ folder }), now: new Date() });
  const id = `run${EVIL}`;
  await world.start(undefined, { id, owner: `owner${EVIL}`, tags: [`tag${EVIL}`] });
  return { world, id, folder, command: runIn(folder) };
}

/** The control characters in output without styles. */
const controlCharactersIn = (text: string): readonly string[] =>
  [...text].filter((character) => character !== '\n' && /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(character));

describe('hostile stored text', () => {
  it('cannot control the terminal in the output of any command', async () => {
    const { command, id, world } = await scene();
    const readCommands = (version: string): string[][] => [
      ['runs'],
      ['show', id],
      ['history', id],
      ['diff', id, '1', version],
      ['state', id],
      ['state', id, '--results'],
      ['state', id, '--path', `["key${EVIL.replace('\\', '\\\\')}"]`],
      ['approvals'],
      ['approvals', id],
      ['verify', id],
      ['runs', '--json'],
      ['show', id, '--json'],
      ['state', id, '--json'],
      ['history', id, '--json'],
      ['approvals', '--json'],
      ['export', id],
      ['export', id, '--format', 'trajectory'],
      ['show', `nobody${EVIL}`],
      ['show', `nobody${EVIL}`, '--json'],
      [`command${EVIL}`],
      ['start', 'x', EVIL],
      ['approve', id, '--as', `user:bob${EVIL}`],
      ['prune', id, '--keep-last', '1'],
      ['rewind', id, '1'],
    ];
    for (const args of readCommands('4')) {
      const { out, err } = await command(args);
      expect([args[0], controlCharactersIn(out + err)]).toEqual([args[0], []]);
    }
    const decided = await command(['approve', id, '--as', `user:ann${EVIL}`, '--comment', `comment${EVIL}`]);
    expect([decided.code, controlCharactersIn(decided.out + decided.err)]).toEqual([0, []]);
    await world.skip({ hours: 1 });
    for (const args of [['show', id], ['approvals', id], ['runs'], ['cancel', id], ['retry', id]]) {
      const { out, err } = await command(args);
      expect([args[0], controlCharactersIn(out + err)]).toEqual([args[0], []]);
    }
  });

  it('is unchanged in JSON output', async () => {
    const { command, id } = await scene();
    expect((await command(['runs', '--json'])).json()).toMatchObject([{ run: id, owner: `owner${EVIL}` }]);
    expect(JSON.parse((await command(['state', id])).out)[`key${EVIL}`]).toBe(`changed${EVIL}\nand more${EVIL}`);
  });

  it('can be copied from the output into a shell', async () => {
    const { command, id } = await scene();
    const { out } = await command(['show', id]);
    const line = out.split('\n').find((each) => each.includes('waitstate approve')) ?? '';
    const words = execFileSync('bash', ['-c', `printf '%s\\0' ${line}`])
      .toString()
      .split('\0');
    expect(words.slice(0, 3)).toEqual(['waitstate', 'approve', id]);
  });

  it('does not break tables and timelines on a terminal', async () => {
    const { command, id } = await scene();
    for (const args of [['runs'], ['show', id], ['history', id], ['approvals']]) {
      const { out } = await command(args, { columns: 60 });
      // The only escape sequences are styles.
      const [first = '', ...sequences] = out.split('\u001b[');
      const rest = sequences.map((each) => each.replace(/^\d+(;\d+)*m/, (style) => ' '.repeat(style.length)));
      expect(rest.filter((each) => !each.startsWith(' '))).toEqual([]);
      expect(controlCharactersIn(first + rest.join(''))).toEqual([]);
    }
  });
});
