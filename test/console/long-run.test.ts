import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { PATHS } from '../../lambda/console/paths.ts';
import { agent } from '../../lambda/index.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { repeats } from '../deep.ts';
import { countingStorage } from '../runtime/scale/counted.ts';
import { consoleScene } from './scene.ts';
import { textOf } from './well-formed.ts';

const LONG = repeats(400, 5000);

const pages = agent({
  name: 'pages',
  async run(ctx, count: number) {
    for (let i = 0; i < count; i++) await ctx.step(`page ${i}`, () => i);
    return count;
  },
});

describe('the page of a long run', () => {
  it('takes as many requests as that of a short one, and is as large as one page of checkpoints', async () => {
    const storage = countingStorage(memoryStorage());
    const { start, get } = consoleScene(pages, { storage });
    await start(10, { id: 'ten' });
    await start(60, { id: 'page' });
    await start(LONG, { id: 'long' });
    const open = async (run: string) => {
      storage.since();
      const { page } = await get(PATHS.run(run));
      const { reads, ranges, lists, opens, recordsRead } = storage.since();
      return { requests: reads + ranges + lists + opens, recordsRead, bytes: page.length, text: textOf(page) };
    };
    const [ten, page, long] = [await open('ten'), await open('page'), await open('long')];
    expect(long.requests).toBe(ten.requests);
    expect(long.requests).toBeLessThanOrEqual(4);
    expect(long.recordsRead).toBeLessThanOrEqual(51 + 4);
    expect(long.bytes).toBeLessThan(1.05 * page.bytes);
    expect(long.text).toContain(`Checkpoints ${(LONG + 3).toLocaleString('en')}`);
    expect(long.text).toMatch(/Total: /);
  }, 300_000);

  it('is searched for a step, however far back that is', async () => {
    const { start, get } = consoleScene(pages);
    await start(LONG, { id: 'long' });
    expect((await get(PATHS.run('long'))).page).toContain('type="search"');
    const { page } = await get(`${PATHS.run('long')}?find=page+333`);
    expect([...page.matchAll(/data-key="version:(\d+)"/g)].map(([, version]) => Number(version))).toEqual(
      LONG > 1000 ? [] : [336],
    );
    let further = page;
    while (!further.includes('data-key="version:336"')) {
      const [, next = ''] = /href="([^"]+)">Search older</.exec(further) ?? [];
      expect(next).not.toBe('');
      further = (await get(next.replaceAll('&amp;', '&'))).page;
    }
    const nothing = await get(`${PATHS.run('long')}?find=%3Cscript%3E`);
    expect(textOf(nothing.page)).toContain('Nothing found for <script> in checkpoints');
    expect(nothing.page).not.toContain('<table');
  }, 300_000);
});

describe('the page of a run with a large state', () => {
  const large = agent({
    name: 'large',
    state: { initial: () => ({ text: '' }) },
    async run(ctx, { kilobytes, fails }: { kilobytes: number; fails?: boolean }) {
      await ctx.update((state) => {
        state.text = randomBytes(kilobytes * 1024).toString('base64');
      });
      if (fails) throw new Error('The disk is full.');
      await ctx.approval('continue', { title: 'Continue?', approvers: ['user:ann'] });
      return 'large enough';
    },
  });

  it('opens and polls without loading the state, and links to the rest', async () => {
    const storage = countingStorage(memoryStorage());
    await consoleScene(large, { storage }).start({ kilobytes: 4096 }, { id: 'big' });
    // Another process, which has not seen the run.
    const { get } = consoleScene(large, { storage });
    storage.since();
    const { page } = await get(PATHS.run('big'));
    expect(storage.since()).toMatchObject({ opens: 0, payloadBytesRead: 0 });
    const text = textOf(page);
    expect(text).toContain('Waiting for approval continue Open request continue');
    expect(text).toMatch(/This run carries \d\.\d MB of state and results/);
    expect(page).not.toContain('part=state-section');
    const [, changes = ''] = /data-live="([^"]+)"/.exec(page) ?? [];
    expect((await get(changes.replaceAll('&amp;', '&'))).status).toBe(204);
    expect(storage.since()).toMatchObject({ opens: 0, payloadBytesRead: 0 });
    const content = await get(PATHS.ofRun('big', 'content'));
    expect(textOf(content.page)).toMatch(/Waiting for approval: continue.*Input kilobytes 4,?096/);
    expect(storage.since().opens).toBeGreaterThan(0);
  });

  it('says in a line why the run failed', async () => {
    const storage = memoryStorage();
    const { start } = consoleScene(large, { storage });
    await start({ kilobytes: 4096, fails: true }, { id: 'big' });
    const { get } = consoleScene(large, { storage });
    const big = textOf((await get(PATHS.run('big'))).page);
    expect(big).toContain('The disk is full.');
    expect(big).not.toContain('Stack trace');
    await start({ kilobytes: 1, fails: true }, { id: 'small' });
    expect(textOf((await get(PATHS.run('small'))).page)).toMatch(/The disk is full\..*Stack trace/);
  });
});
