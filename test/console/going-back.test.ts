import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { PATHS } from '../../lambda/console/paths.ts';
import { agent, FatalError } from '../../lambda/index.ts';
import { repeats } from '../deep.ts';
import { consoleScene } from './scene.ts';
import { textOf, unescaped } from './well-formed.ts';

const lists = agent({
  name: 'lists',
  state: { initial: () => ({ done: [] as string[], plan: Array.from({ length: 60 }, (_, i) => `task ${i}`) }) },
  async run(ctx, { count, fails }: { count: number; fails?: boolean }) {
    for (let i = 0; i < count; i++) {
      await ctx.step(`do ${i}`, () => i);
      await ctx.update((state) => void state.done.push(`did ${i}`));
    }
    if (fails) await ctx.step('break', () => Promise.reject(new FatalError('No.')));
    return 'done';
  },
});

const optionsOf = (page: string): readonly string[] =>
  [...page.matchAll(/<option value="([^"]*)"([^>]*)>([^<]*)</g)].map(([, , about = '', text = '']) =>
    unescaped(text + about),
  );

describe('a checkpoint', () => {
  it('is picked from a list of steps, to rewind, to fork and to compare', async () => {
    const { start, get } = consoleScene(lists);
    await start({ count: 2 }, { id: 'run' });
    const rewind = (await get(PATHS.ofRun('run', 'rewind'))).page;
    expect(optionsOf(rewind)).toEqual([
      'Choose a checkpoint',
      '7: succeeded · just now',
      '6: update · just now',
      '5: do 1 · just now',
      '4: update · just now',
      '3: do 0 · just now',
      '2: queued · just now',
      '1: start · just now',
    ]);
    expect(optionsOf((await get(`${PATHS.ofRun('run', 'fork')}?version=5`)).page)).toContain(
      '5: do 1 · just now selected',
    );
    const compare = optionsOf((await get(PATHS.checkpoint('run', 5))).page);
    expect(compare).toContain('4: update · just now selected');
    expect(compare.join()).not.toMatch(/(^|,)5: /);
    const diff = optionsOf((await get(`${PATHS.ofRun('run', 'diff')}?before=2&after=6`)).page);
    expect(diff.filter((text) => text.includes('selected'))).toEqual([
      '2: queued · just now selected',
      '6: update · just now selected',
    ]);
  });

  it('is in the list of a long run if it was chosen, and old ones are found in the timeline', async () => {
    const { start, get } = consoleScene(lists);
    await start({ count: repeats(80, 600) }, { id: 'run' });
    const far = optionsOf((await get(`${PATHS.ofRun('run', 'diff')}?before=1&after=150`)).page);
    expect(far.filter((text) => text.includes('selected'))).toEqual(['1 selected', '150: update · just now selected']);
    const rewind = (await get(PATHS.ofRun('run', 'rewind'))).page;
    expect(optionsOf(rewind).length).toBeLessThanOrEqual(102);
    expect(textOf(rewind)).toMatch(/For a checkpoint before \d+, open it in the timeline/);
    const chosen = optionsOf((await get(`${PATHS.ofRun('run', 'rewind')}?version=9`)).page);
    expect(chosen).toContain('9: do 3 · just now selected');
  });
});

describe('two checkpoints side by side', () => {
  it('show what differs, and fold what is equal', async () => {
    const { start, get } = consoleScene(lists);
    await start({ count: 2 }, { id: 'run' });
    const { page } = await get(`${PATHS.ofRun('run', 'diff')}?before=4&after=6&view=side`);
    expect(page).not.toContain('<del>');
    expect([...page.matchAll(/<ins>(.*?)<\/ins>/g)].map(([, line = '']) => unescaped(line).trim())).toEqual([
      '"did 1"',
      '"do 1": 1',
    ]);
    expect(textOf(page)).toMatch(/61 equal lines/);
    expect(page).toContain('name="view" value="side"');
    expect(textOf((await get(`${PATHS.ofRun('run', 'diff')}?before=5&after=5&view=side`)).page)).toMatch(
      /State No changes\. Recorded results No changes\./,
    );
  });

  it('stay small for large states', async () => {
    const large = agent({
      name: 'large',
      state: { initial: () => ({ lines: [] as string[] }) },
      async run(ctx) {
        for (const word of ['old', 'new'])
          await ctx.update((state) => {
            state.lines = Array.from({ length: 5000 }, (_, i) => (i % 10 < 5 ? `line ${i}` : `${word} ${i}`));
          });
        await ctx.update((state) => {
          state.lines = ['x'.repeat(600_000)];
        });
      },
    });
    const { start, get } = consoleScene(large);
    await start(undefined, { id: 'run' });
    const { page } = await get(`${PATHS.ofRun('run', 'diff')}?before=3&after=4&view=side`);
    expect(page.length).toBeLessThan(300_000);
    expect(textOf(page)).toMatch(/and [\d,]+ more lines: use waitstate diff/);
    expect(textOf((await get(`${PATHS.ofRun('run', 'diff')}?before=4&after=5&view=side`)).page)).toContain(
      'too large to compare side by side',
    );
  });
});

describe('a run that has ended', () => {
  it('is started again with its input, owner and tags, which can be changed', async () => {
    const { start, get, post, operator } = consoleScene(lists, { offered: [{ name: 'lists' }, { name: 'others' }] });
    await start({ count: 1, fails: true }, { id: 'run', owner: 'ann', tags: ['a', 'b'] });
    const { page } = await get(PATHS.run('run'));
    expect(page).toContain('class="button primary" href="/console/runs/run/retry">Retry');
    expect(page).toContain('href="/console/start?from=run">Start again');
    const form = (await get('/console/start?from=run')).page;
    expect(unescaped(form)).toContain('{\n  "count": 1,\n  "fails": true\n}</textarea>');
    expect(form).toMatch(/name="owner" value="ann"/);
    expect(form).toMatch(/name="tags" value="a, b"/);
    expect(form).toContain('<input type="hidden" name="agent" value="lists">');
    expect(textOf(form)).toContain('The input of run run . Change it as needed');
    await post(PATHS.start, { agent: 'lists', input: '{ "count": 2 }', id: 'again' });
    expect((await operator.run('again')).status).toBe('SUCCEEDED');
    expect((await get('/console/start?from=missing')).status).toBe(404);
  });
});

describe('a retry that must fail again', () => {
  const strict = agent({
    name: 'strict',
    input: z.object({ city: z.string() }),
    run: (ctx, { city }) => ctx.step('go', () => city),
  });

  it('is not offered, and the page says why', async () => {
    const { operator, settle, get, post } = consoleScene(strict);
    await operator.start({ agent: 'strict', id: 'run', input: { city: 7 } });
    await settle();
    const { page } = await get(PATHS.run('run'));
    expect(textOf(page)).toMatch(
      /A retry would fail again\. A value does not match the schema of the agent, and a retry has the same value\./,
    );
    expect(page).not.toContain('>Retry</a>');
    expect(page).toContain('href="/console/start?from=run">Start again with another input');
    // The claim is true.
    await post(PATHS.ofRun('run', 'retry'), {});
    expect(await operator.run('run')).toMatchObject({ status: 'FAILED', error: { code: 'SCHEMA_REFUSED' } });
    expect(textOf((await get(PATHS.ofRun('run', 'retry'))).page)).toContain('unless you deployed other code since');
  });

  it('differs from one that can succeed, which is offered', async () => {
    let isBroken = true;
    const flaky = agent({
      name: 'flaky',
      async run(ctx) {
        await ctx.step('call', () => {
          if (isBroken) throw new FatalError('No connection.');
        });
      },
    });
    const { start, get, post, operator } = consoleScene(flaky);
    await start(undefined, { id: 'run' });
    expect(textOf((await get(PATHS.run('run'))).page)).not.toContain('would fail again');
    isBroken = false;
    await post(PATHS.ofRun('run', 'retry'), {});
    expect((await operator.run('run')).status).toBe('SUCCEEDED');
  });
});
