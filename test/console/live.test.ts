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

/** A storage that also counts the records that it gives out. */
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

/** What something cost in requests and records. */
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

/** Where a page asks what changed. */
const liveOf = (page: string): string => unescaped(/<main[^>]* data-live="([^"]*)"/.exec(page)?.[1] ?? '');

const keys = (page: string): readonly string[] =>
  [...page.matchAll(/data-key="([^"]*)"/g)].map(([, key = '']) => unescaped(key));

describe('a list of runs that is open', () => {
  it('costs by what changed, not by how many runs there are', async () => {
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
      // What was newest before may come again: lists may be behind.
      expect(keys(busy.got.page).length).toBeLessThanOrEqual(2);
      costs.push({ quiet: quiet.list + quiet.read + quiet.range, records: quiet.records, changed: busy.records });
    }
    expect(costs[0]).toEqual(costs[1]);
    expect(costs[0]?.records).toBeLessThanOrEqual(1);
  });

  it('counts anew only now and then, and only when something changed', async () => {
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

  it('sees a run leave the status that is looked for, and no run that never had it', async () => {
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

  it('begins where there was no run that fits', async () => {
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

  it('says nothing where nothing can have changed', async () => {
    const scene = consoleScene(jobs);
    const live = liveOf((await scene.get(PATHS.runs)).page);
    expect(await scene.get(live)).toMatchObject({ status: 204, page: '' });
    expect((await scene.get(live.replace(/since=\d+/, 'since=x'))).status).toBe(204);
  });
});

describe('a run that is open', () => {
  it('costs two requests while nothing changes, and reads only what is new when something does', async () => {
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
    expect(busy.records - quiet.records).toBeLessThanOrEqual(fresh.length + 4);
  });

  it('shows in the end what a page shows that is opened then', async () => {
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
    expect(textOf(third.page)).toContain('The run is now: Succeeded.');
    const last = (await scene.get(PATHS.run('run'))).page;
    const rows = (page: string) => page.match(/<tr role="row" id="v\d+"[\s\S]*?<\/tr>/g) ?? [];
    const strip = (page: string) => page.match(/<li class="[a-z]+ g\d+" data-key="segment:\d+"[\s\S]*?<\/li>/g) ?? [];
    const legend = (page: string) => /<div data-key="legend"[\s\S]*?<\/div>/.exec(page)?.[0];
    const bare = (all: readonly string[]) => all.map((each) => each.replace(/<time[\s\S]*?<\/time>/g, ''));
    const followed = [first, second, third].map(({ page }) => page);
    expect(bare(followed.flatMap(rows))).toEqual(bare(rows(last)));
    expect(followed.flatMap(strip)).toEqual(strip(last));
    expect(legend(third.page)).toBe(legend(last));
  });
});

describe('an inbox that is open', () => {
  it('reads questions only when a run changed, and drops those that were answered', async () => {
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
    expect(textOf(page)).toContain('11 wait for an answer.');
    expect((await scene.get(liveOf(page))).status).toBe(204);
    await scene.skip({ minutes: 1 });
    await scene.run('run-3').decide({ approval: 'go', by: 'user:ann', answer: 'approve' });
    const answered = await scene.get(liveOf(page));
    expect(answered.page).not.toContain(PATHS.approval('run-3', 'go'));
    expect(textOf(answered.page)).toContain('10 wait for an answer.');
  });
});
