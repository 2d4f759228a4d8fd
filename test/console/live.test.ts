import { describe, expect, it } from 'vitest';
import { PATHS } from '../../lambda/console/paths.ts';
import { agent } from '../../lambda/index.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Page, Storage } from '../../lambda/storage/ports.ts';
import { type Calls, counted } from '../runtime/storages.ts';
import { consoleScene } from './scene.ts';
import { textOf, unescaped } from './well-formed.ts';

const jobs = agent({
  name: 'jobs',
  state: { initial: () => ({ steps: 0 }) },
  async run(ctx, { asks }: { asks?: boolean }) {
    await ctx.step('prepare', () => 1);
    if (asks) await ctx.approval('go', { title: 'Go?', approvers: ['user:ann'] });
    const seat = await ctx.waitForSignal('go');
    for (let i = 0; i < 3; i++) await ctx.step(`work ${i}`, () => i);
    return seat;
  },
});

/** A storage that also counts the records that it returns. */
function watched(): { readonly storage: Storage; readonly calls: Calls & { records: number } } {
  const { storage, calls } = counted(memoryStorage({ clock: () => now.at }));
  const counts = Object.assign(calls, { records: 0 });
  const page = async (given: Promise<Page>) => {
    const found = await given;
    counts.records += found.records.length;
    return found;
  };
  const { list, range, read } = storage.records;
  const records = {
    ...storage.records,
    list: (...args: Parameters<typeof list>) => page(list(...args)),
    range: (...args: Parameters<typeof range>) => page(range(...args)),
    read: async (...args: Parameters<typeof read>) => {
      const found = await read(...args);
      counts.records += found.length;
      return found;
    },
  };
  return { storage: { ...storage, records }, calls: counts };
}

const now = { at: Date.parse('2026-01-01T00:00:00Z') };

/** The storage requests and records that a call takes. */
async function cost<T>(calls: Calls & { records: number }, act: () => Promise<T>) {
  const before = { ...calls };
  const got = await act();
  const { list, read, range, commit, records } = calls;
  return {
    got,
    list: list - before.list,
    read: read - before.read,
    range: range - before.range,
    commit: commit - before.commit,
    records: records - before.records,
  };
}

/** The URL that a page polls for changes. */
const liveOf = (page: string): string => unescaped(/<main[^>]* data-live="([^"]*)"/.exec(page)?.[1] ?? '');

const keys = (page: string): readonly string[] =>
  [...page.matchAll(/data-key="([^"]*)"/g)].map(([, key = '']) => unescaped(key));

describe('an open list of runs', () => {
  it('costs in proportion to the changed runs, not to all runs', async () => {
    const costs = [];
    for (const amount of [5, 80]) {
      const { storage, calls } = watched();
      const scene = consoleScene(jobs, { storage });
      for (let i = 0; i < amount; i++) await scene.start({}, { id: `run-${i}` });
      await scene.skip({ minutes: 10 });
      await scene.start({}, { id: 'last' });
      const live = liveOf((await scene.get(PATHS.runs)).page);
      await scene.skip({ seconds: 10 });
      const quiet = await cost(calls, () => scene.get(live));
      await scene.run('run-3').signal('go', 'x');
      const busy = await cost(calls, () => scene.get(liveOf(quiet.got.page) || live));
      expect(keys(busy.got.page).filter((key) => key.startsWith('run:'))).toContain('run:run-3');
      expect(textOf(busy.got.page)).toContain('One run changed.');
      expect([quiet.commit, busy.commit]).toEqual([0, 0]);
      // The previously newest run may appear again, since lists are eventually consistent.
      expect(keys(busy.got.page).length).toBeLessThanOrEqual(2);
      costs.push({ quiet: quiet.list + quiet.read + quiet.range, records: quiet.records, changed: busy.records });
    }
    expect(costs[0]).toEqual(costs[1]);
    expect(costs[0]?.records).toBeLessThanOrEqual(1);
  });

  it('counts again only from time to time, and only after a change', async () => {
    const { storage, calls } = watched();
    const scene = consoleScene(jobs, { storage });
    for (let i = 0; i < 20; i++) await scene.start({}, { id: `run-${i}` });
    let live = liveOf((await scene.get(PATHS.runs)).page);
    await scene.run('run-1').signal('go', 'x');
    const soon = await cost(calls, () => scene.get(live));
    expect(keys(soon.got.page)).not.toContain('counts');
    live = liveOf(soon.got.page);
    await scene.skip({ minutes: 2 });
    expect(keys((await scene.get(live)).page)).not.toContain('counts');
    await scene.run('run-2').signal('go', 'x');
    const later = await scene.get(live);
    expect(keys(later.page)).toContain('counts');
    expect(textOf(later.page)).toContain('Succeeded 2');
  });

  it('updates a run that leaves the filtered status, and adds no other run', async () => {
    const scene = consoleScene(jobs);
    await scene.start({}, { id: 'a' });
    const live = liveOf((await scene.get(`${PATHS.runs}?status=WAITING_FOR_SIGNAL`)).page);
    await scene.skip({ minutes: 1 });
    await scene.run('a').signal('go', 'x');
    await scene.start({}, { id: 'b' });
    const { page } = await scene.get(live);
    expect(page).toMatch(/data-key="run:a" data-rev="SUCCEEDED [0-9]+" data-known/);
    expect(page).toMatch(/data-key="run:b" data-rev="WAITING_FOR_SIGNAL [0-9]+">/);
  });

  it('adds the first matching run to an empty list', async () => {
    const scene = consoleScene(jobs);
    const live = liveOf((await scene.get(`${PATHS.runs}?status=WAITING_FOR_SIGNAL`)).page);
    await scene.start({ asks: true }, { id: 'asks' });
    const other = await scene.get(live);
    expect(keys(other.page)).toEqual([]);
    await scene.skip({ minutes: 1 });
    await scene.start({}, { id: 'first' });
    const { page } = await scene.get(liveOf(other.page));
    expect(keys(page)).toEqual(expect.arrayContaining(['found', 'run:first']));
    expect(page).toContain('data-list="runs"');
    expect(keys(page)).not.toContain('run:asks');
    expect(liveOf(page)).not.toContain('empty');
  });

  it('responds with 204 if nothing changed', async () => {
    const scene = consoleScene(jobs);
    const live = liveOf((await scene.get(PATHS.runs)).page);
    expect(await scene.get(live)).toMatchObject({ status: 204, page: '' });
    expect((await scene.get(live.replace(/since=\d+/, 'since=x'))).status).toBe(204);
  });
});

describe('an open page of a run', () => {
  it('takes two requests while nothing changes, and reads at most a page of checkpoints after a change', async () => {
    const { storage, calls } = watched();
    const long = agent({
      name: 'long',
      async run(ctx) {
        for (let i = 0; i < 90; i++) await ctx.step(`step ${i}`, () => 'x'.repeat(500));
        await ctx.waitForSignal('go');
        for (let i = 0; i < 3; i++) await ctx.step(`more ${i}`, () => i);
        await ctx.waitForSignal('end');
      },
    });
    const scene = consoleScene(long, { storage });
    await scene.start(undefined, { id: 'long' });
    const live = liveOf((await scene.get(PATHS.run('long'))).page);
    const quiet = await cost(calls, () => scene.get(live));
    expect(quiet.got.status).toBe(204);
    expect(quiet.list + quiet.read + quiet.range).toBeLessThanOrEqual(2);
    await scene.run('long').signal('go', 1);
    const busy = await cost(calls, () => scene.get(live));
    const fresh = keys(busy.got.page).filter((key) => key.startsWith('version:'));
    expect(fresh.length).toBeGreaterThan(3);
    expect(busy.list + busy.read + busy.range).toBeLessThanOrEqual(5);
    expect(busy.records - quiet.records).toBeLessThanOrEqual(51 + 4);
  });

  it('ends up with the same content as a page that is loaded later', async () => {
    const scene = consoleScene(jobs);
    await scene.start({ asks: true }, { id: 'run' });
    const first = await scene.get(PATHS.run('run'));
    await scene.skip({ minutes: 5 });
    await scene.run('run').approve('go', { by: 'user:ann' });
    const second = await scene.get(liveOf(first.page));
    await scene.skip({ hours: 2 });
    await scene.run('run').signal('go', 'x');
    const third = await scene.get(liveOf(second.page));
    expect(liveOf(third.page)).toBe('');
    expect(textOf(third.page)).toContain('Run status: Succeeded.');
    const last = (await scene.get(PATHS.run('run'))).page;
    const rows = (page: string) => page.match(/<tr role="row" id="v\d+"[\s\S]*?<\/tr>/g) ?? [];
    const strip = (page: string) => /<div class="strip-box"[\s\S]*?<\/div>\s*<\/div>/.exec(page)?.[0];
    const legend = (page: string) => /<div data-key="legend"[\s\S]*?<\/div>/.exec(page)?.[0];
    const bare = (all: readonly string[]) => all.map((each) => each.replace(/<time[\s\S]*?<\/time>/g, ''));
    const followed = [first, second, third].map(({ page }) => page);
    expect(bare(followed.flatMap(rows))).toEqual(bare(rows(last)));
    expect(strip(third.page)).toBe(strip(last));
    expect(strip(last)).toContain('class="step');
    expect(legend(third.page)).toBe(legend(last));
  });
});

describe('an open inbox', () => {
  it('reads approvals only after a run changed, and drops decided ones', async () => {
    const { storage, calls } = watched();
    const scene = consoleScene(jobs, { storage });
    for (let i = 0; i < 10; i++) await scene.start({ asks: true }, { id: `run-${i}` });
    await scene.skip({ minutes: 1 });
    const live = liveOf((await scene.get(PATHS.inbox)).page);
    const quiet = await cost(calls, () => scene.get(live));
    expect(quiet).toMatchObject({ got: { status: 204 }, read: 0, range: 0, records: 0 });
    await scene.start({ asks: true }, { id: 'new' });
    const { page } = await scene.get(live);
    expect(page).toContain(PATHS.approval('new', 'go'));
    expect(textOf(page)).toContain('Pending requests: 11.');
    expect((await scene.get(liveOf(page))).status).toBe(204);
    await scene.skip({ minutes: 1 });
    await scene.run('run-3').decide({ approval: 'go', by: 'user:ann', answer: 'approve' });
    const updated = await scene.get(liveOf(page));
    expect(updated.page).not.toContain(PATHS.approval('run-3', 'go'));
    expect(textOf(updated.page)).toContain('Pending requests: 10.');
  });
});
