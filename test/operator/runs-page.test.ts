import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import type { Operator, RunsQuery } from '../../lambda/operator/operator.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { TestClock } from '../../lambda/testing.ts';
import { describeOnEachStorage } from '../runtime/storages.ts';

function deskOf(storage: Storage): { operator: Operator; clock: TestClock } {
  const clock = new TestClock(Date.parse('2026-03-01T10:00:00Z'));
  return { clock, operator: createOperator(agent({ name: 'none', run: () => {} }, { storage, clock }).runtime) };
}

async function allPages(operator: Operator, query: RunsQuery): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  for (let cursor: string | undefined, pages = 1; ; pages++) {
    const page = await operator.runs({ ...query, ...(cursor !== undefined && { cursor }) });
    ids.push(...page.runs.map(({ run }) => run));
    cursor = page.cursor;
    if (cursor === undefined) return { ids, pages };
  }
}

describeOnEachStorage('a paged list of runs', (open) => {
  it('contains each run once, newest first, also if many have the same time', async () => {
    const { operator, clock } = deskOf(await open());
    for (let i = 0; i < 24; i++) {
      if (i % 8 === 0) clock.moveTo(clock.now() + 1000);
      await operator.start({ agent: i % 3 === 0 ? 'rare' : 'often', id: `run-${String(i).padStart(2, '0')}` });
    }
    const whole = (await operator.runs()).runs.map(({ run }) => run);
    expect(whole).toHaveLength(24);
    const paged = await allPages(operator, { limit: 5 });
    expect(paged.ids.toSorted()).toEqual(whole.toSorted());
    expect(paged.pages).toBe(5);
    const moments = paged.ids.map((id) => Math.floor(Number(id.slice(4)) / 8));
    expect(moments).toEqual(moments.toSorted((a, b) => b - a));
    expect((await allPages(operator, { limit: 3, agent: 'rare' })).ids).toHaveLength(8);
    expect((await allPages(operator, { id: 'n-1' })).ids).toHaveLength(10);
  });
});

describe('a list of runs', () => {
  it('stops reading when few runs match a filter, and continues with the next page', async () => {
    const storage = memoryStorage();
    const { operator, clock } = deskOf(storage);
    await operator.start({ agent: 'rare', id: 'the one' });
    clock.moveTo(clock.now() + 1);
    for (let i = 0; i < 1200; i++) await operator.start({ agent: 'often' });
    const first = await operator.runs({ agent: 'rare' });
    expect(first.runs).toEqual([]);
    expect(first.cursor).toBeDefined();
    expect((await allPages(operator, { agent: 'rare' })).ids).toEqual(['the one']);
    expect((await operator.counts()).READY).toEqual({ count: 1000, hasMore: true });
    expect((await operator.counts()).FAILED).toEqual({ count: 0, hasMore: false });
  });

  it('refuses an invalid cursor and a page that is too large', async () => {
    const { operator } = deskOf(memoryStorage());
    for (const cursor of ['', 'x', '../..', 'zzzzzzzzzzzzzzz.abcdef', '1.abc'])
      await expect(operator.runs({ cursor })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(operator.runs({ limit: 101 })).rejects.toThrow('`limit` must be a whole number from 1 to 100');
  });

  it('shows a run once while the run moves from one index to another', async () => {
    const storage = memoryStorage();
    const { list } = storage.records;
    const late: Storage = {
      ...storage,
      records: {
        ...storage.records,
        // An index that still has a run that has left it, as an eventually consistent index may.
        async list(name, group, options) {
          const page = await list(name, group, options);
          if (name !== 'status' || !group.endsWith('/CANCELLED')) return page;
          const { records } = await list(name, group.replace('CANCELLED', 'READY'), options);
          return { ...page, records: [...page.records, ...records] };
        },
      },
    };
    const { operator } = deskOf(late);
    await operator.start({ agent: 'a', id: 'one' });
    expect((await operator.runs()).runs.map(({ run }) => run)).toEqual(['one']);
  });
});
