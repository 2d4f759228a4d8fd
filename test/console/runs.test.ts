import { describe, expect, it } from 'vitest';
import { PATHS } from '../../lambda/console/paths.ts';
import { runsPage } from '../../lambda/console/runs/runs-page.ts';
import { parseRunsForm, toRunsQuery } from '../../lambda/console/runs/runs-query.ts';
import { STATUSES } from '../../lambda/core/status.ts';
import type { Caller } from '../../lambda/http/caller.ts';
import { agent } from '../../lambda/index.ts';
import type { StatusCounts } from '../../lambda/operator/operator.ts';
import { caller, consoleScene, type PageResponse } from './scene.ts';
import { textOf, unescaped, wholePage } from './well-formed.ts';

const jobs = agent({
  name: 'jobs',
  async run(ctx, { fails }: { fails?: boolean }) {
    await ctx.step('begin', () => 1, { undo: () => {} });
    if (fails) await ctx.step('check', () => Promise.reject(new Error('No.')), { retry: { maxAttempts: 1 } });
    return ctx.waitForSignal('go');
  },
});

const ids = (page: string): readonly string[] =>
  [...page.matchAll(/data-key="run:([^"]*)"/g)].map(([, id = '']) => unescaped(id));

describe('the list of runs', () => {
  it('is filtered by status, agent, owner, tag, step, time and part of the id', async () => {
    const { start, get, skip } = consoleScene(jobs);
    await start({}, { id: 'old', owner: 'ann' });
    await skip({ days: 3 });
    await start({ fails: true }, { id: 'failed-1', owner: 'ann', tags: ['beta'] });
    await start({}, { id: 'fresh-1', owner: 'bob' });
    const found = async (query: string) => ids((await get(`/console/runs?${query}`)).page);
    expect(await found('')).toEqual(['fresh-1', 'failed-1', 'old']);
    expect(await found('status=FAILED')).toEqual(['failed-1']);
    expect(await found('owner=ann')).toEqual(['failed-1', 'old']);
    expect(await found('tag=beta')).toEqual(['failed-1']);
    expect(await found('step=check')).toEqual(['failed-1']);
    expect(await found('status=FAILED&step=2')).toEqual(['failed-1']);
    expect(await found('step=begin&status=FAILED')).toEqual([]);
    expect(await found('agent=jobs&period=24h')).toEqual(['fresh-1', 'failed-1']);
    expect(await found('agent=other')).toEqual([]);
    expect(await found('id=d-1')).toEqual(['failed-1']);
    expect(await found('to=2026-01-02T00:00')).toEqual(['old']);
    expect(await found('from=2026-01-02T00:00&to=2026-01-05T00:00')).toEqual(['fresh-1', 'failed-1']);
    expect(await found('status=NONSENSE&period=1y&from=tomorrow')).toHaveLength(3);
    expect(await found('period=constructor')).toHaveLength(3);
  });

  it('shows every run once when paging by cursor', async () => {
    const { start, get } = consoleScene(jobs);
    for (let i = 0; i < 120; i++) await start({}, { id: `run-${i}` });
    const seen: string[] = [];
    let path: string | undefined = '/console/runs?agent=jobs';
    while (path) {
      const { page } = await get(path);
      expect(ids(page).length).toBeLessThanOrEqual(50);
      seen.push(...ids(page));
      path = unescaped(/rel="next" href="([^"]+)"/.exec(page)?.[1] ?? '') || undefined;
      // Only the first page updates live and counts.
      if (seen.length > 50) expect(page).not.toMatch(/data-live|data-key="counts"/);
    }
    expect(seen.toSorted()).toEqual(Array.from({ length: 120 }, (_, i) => `run-${i}`).toSorted());
    expect((await get('/console/runs?cursor=forged')).status).toBe(400);
  });

  it('explains an empty list', async () => {
    const { get } = consoleScene(jobs);
    expect(textOf((await get('/console/runs')).page)).toContain('No runs yet');
    expect(textOf((await get('/console/runs?agent=x')).page)).toContain('No matching runs');
    expect(textOf((await get('/console/inbox')).page)).toContain('No pending requests');
  });

  it('shows counts by status, up to a thousand', () => {
    const none = { count: 0, hasMore: false };
    const counts = {
      ...Object.fromEntries(STATUSES.map((status) => [status, none])),
      FAILED: { count: 1000, hasMore: true },
      READY: { count: 7, hasMore: false },
    } as StatusCounts;
    const page = String(
      runsPage({ caller: caller(), form: {}, found: { runs: [] }, counts, agents: [], now: new Date() }),
    );
    wholePage(page);
    expect(textOf(page)).toContain('All Ready 7 Failed 1,000+');
    expect(textOf(page)).not.toContain('Sleeping');
  });

  it('reads its filters from the URL, and ignores invalid ones', () => {
    const now = new Date('2026-05-01T12:00:00Z');
    const form = parseRunsForm(
      new URLSearchParams('status=READY&agent= x &period=1h&from=2026-04-01T00:00&to=nonsense&cursor=c'),
    );
    expect(form).toEqual({ status: 'READY', agent: 'x', period: '1h', from: '2026-04-01T00:00' });
    expect(toRunsQuery(form, now)).toEqual({ status: 'READY', agent: 'x', since: new Date('2026-04-01T00:00Z') });
    expect(toRunsQuery({ period: '1h' }, now)).toEqual({ since: new Date('2026-05-01T11:00Z') });
  });
});

describe('the form that starts a run', () => {
  const offered = [{ name: 'jobs', example: { fails: false } }, { name: 'others' }];

  it('is prefilled with the example input, and starts one run however often it is submitted', async () => {
    const { get, post, operator } = consoleScene(jobs, { offered });
    const { page } = await get(PATHS.start);
    expect(unescaped(page)).toContain('{\n  "fails": false\n}</textarea>');
    const key = /name="key" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const form = { agent: 'jobs', input: '{}', key, owner: 'ann', tags: 'a,b' };
    const first = await post(PATHS.start, form);
    expect(first).toMatchObject({
      status: 303,
      location: expect.stringMatching(/^\/console\/runs\/key-.*\?done=start$/),
    });
    const second = await post(PATHS.start, form);
    expect(second.location).toBe(first.location.replace('start', 'existing'));
    const { runs } = await operator.runs();
    expect(runs).toMatchObject([{ agent: 'jobs', owner: 'ann', tags: ['a', 'b'] }]);
  });

  it('shows where the input is invalid, and starts nothing', async () => {
    const { post, operator } = consoleScene(jobs, { offered });
    const wrong = await post(PATHS.start, { agent: 'jobs', input: '{"fails": yes}', owner: 'ann' });
    expect(wrong.status).toBe(400);
    expect(textOf(wrong.page)).toContain('Line 1, column 11');
    expect(wrong.page).toContain('value="ann"');
    expect((await post(PATHS.start, { agent: 'nobody', input: '{}' })).status).toBe(404);
    expect((await post(PATHS.start, { agent: 'jobs', input: '{}' }, caller({ roles: ['viewer'] }))).status).toBe(403);
    expect((await operator.runs()).runs).toEqual([]);
  });

  it('accepts any agent name if none are known', async () => {
    const { get, post } = consoleScene(jobs);
    expect((await get(PATHS.start)).page).toContain('id="agent" name="agent"');
    expect((await post(PATHS.start, { agent: 'jobs', input: '{}', id: 'mine' })).location).toBe(
      '/console/runs/mine?done=start',
    );
  });
});

describe('a search in the list of runs', () => {
  it('offers the known agents, and keeps a chosen one that is not known', async () => {
    const { get } = consoleScene(jobs, { offered: [{ name: 'jobs' }, { name: 'others' }] });
    const options = (page: string) =>
      [...page.matchAll(/<option value="([^"]*)"( selected)?>/g)].map(([, name, selected]) => name + (selected ?? ''));
    expect(options((await get('/console/runs')).page).slice(0, 3)).toEqual(['', 'jobs', 'others']);
    expect(options((await get('/console/runs?agent=jobs')).page).slice(0, 3)).toEqual(['', 'jobs selected', 'others']);
    const gone = options((await get('/console/runs?agent=gone')).page);
    expect(gone.slice(0, 4)).toEqual(['', 'jobs', 'others', 'gone selected']);
    const { page } = await consoleScene(jobs).get('/console/runs');
    expect(page).toContain('<input id="agent"');
  });

  it('is reached from a tag', async () => {
    const { start, get } = consoleScene(jobs);
    await start({}, { id: 'tagged', tags: ['a & b'] });
    for (const path of ['/console/runs', PATHS.run('tagged')])
      expect((await get(path)).page).toContain('class="tag" href="/console/runs?tag=a+%26+b"');
  });
});

describe('the badge of the inbox', () => {
  const asks = agent({
    name: 'asks',
    run: (ctx, approver: 'user:ann' | 'user:bob') => ctx.approval('ok', { title: 'OK?', approvers: [approver] }),
  });
  const countFor = async (get: (path: string, as?: Caller) => Promise<PageResponse>, as: Caller) =>
    textOf((await get('/console/inbox/count', as)).page).trim();

  it('counts the pending approvals of the caller, and those of everybody for an operator', async () => {
    const { start, get, run } = consoleScene(asks);
    const ann = caller({ roles: ['approver'] });
    expect(await countFor(get, ann)).toBe('Changes');
    for (let i = 0; i < 8; i++) await start('user:bob', { id: `bob-${i}` });
    await start('user:ann', { id: 'ann' });
    expect(await countFor(get, ann)).toBe('Changes , pending: 1');
    expect(await countFor(get, caller())).toBe('Changes , pending: 9');
    await start('user:ann', { id: 'ann-2' });
    expect(await countFor(get, caller())).toBe('Changes , pending: 9+');
    await run('ann').approve('ok');
    expect(await countFor(get, ann)).toBe('Changes , pending: 1');
  });

  it('is not shown to callers without an inbox', async () => {
    const { get } = consoleScene(asks);
    const viewer = caller({ roles: ['viewer'] });
    expect((await get('/console/runs', viewer)).page).not.toContain('inbox-count');
    expect((await get('/console/inbox/count', viewer)).status).toBe(403);
  });
});
