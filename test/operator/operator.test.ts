import { expect, it } from 'vitest';
import type { Doc } from '../../lambda/checkpoints/document/document.ts';
import { describeOnEachStorage } from '../runtime/storages.ts';
import { operatorScene, PICTURE, until } from './scene.ts';

describeOnEachStorage('an operator', (open) => {
  it('starts and shows a run without the code of its agent, decides for people and sends signals', async () => {
    const { operator } = operatorScene(await open());
    const { run, isNew } = await operator.start({
      agent: 'trips',
      input: { budget: 900 },
      owner: 'ann',
      tags: ['beta'],
    });
    expect(isNew).toBe(true);
    await until(operator, run, 'WAITING_FOR_APPROVAL');
    expect(await operator.run(run)).toMatchObject({
      ...{ run, agent: 'trips', owner: 'ann', tags: ['beta'], isDurable: true, pendingApprovals: ['book'] },
      ...{ step: 'book', input: { budget: 900 }, waits: [{ kind: 'approval', name: 'book' }] },
    });

    const decided = await operator.decide(run, {
      approval: 'book',
      by: 'user:ann',
      answer: 'approve',
      edits: { row: 4 },
    });
    expect(decided).toMatchObject({ status: 'APPROVED', votes: [{ by: 'user:ann', edits: { row: 4 } }] });
    await until(operator, run, 'WAITING_FOR_SIGNAL');
    const [wait] = (await operator.run(run)).waits;
    expect(wait).toMatchObject({ kind: 'signal', name: 'seat' });
    expect(wait?.until?.getTime()).toBeGreaterThan(Date.now() + 24 * 3_600_000);

    expect(await operator.signal(run, { name: 'seat', value: '4A', id: 'click' })).toBe(true);
    expect(await operator.signal(run, { name: 'seat', value: '9F', id: 'click' })).toBe(false);
    await until(operator, run, 'SUCCEEDED');
    expect((await operator.run(run)).result).toEqual({
      ...{ seat: '4A', edits: { row: 4 }, flights: [{ id: 'HP 204', price: 640 }] },
    });
  });

  it('starts one run per key', async () => {
    const { operator } = operatorScene(await open());
    const first = await operator.start({ agent: 'trips', input: { budget: 1 }, key: 'order 7' });
    const again = await operator.start({ agent: 'trips', input: { budget: 1 }, key: 'order 7' });
    expect(again).toMatchObject({ run: first.run, isNew: false });
    const other = await operator.start({ agent: 'trips', input: { budget: 1 }, key: 'order 8' });
    expect(other).toMatchObject({ isNew: true });
    for (const request of [
      { agent: 'trips', input: { budget: 2 } },
      { agent: 'visits', input: { budget: 1 } },
    ])
      await expect(operator.start({ ...request, key: 'order 7' })).rejects.toMatchObject({
        code: 'IDEMPOTENCY_KEY_REUSED',
      });
  });

  it('shows states with instances of unknown classes, and their differences', async () => {
    const { operator } = operatorScene(await open());
    const { run } = await operator.start({ agent: 'trips', input: { budget: 900 } });
    await until(operator, run, 'WAITING_FOR_APPROVAL');
    const newest = await operator.checkpoint(run);
    expect(newest.state).toEqual({
      ...{ budget: 900, spent: { $: ['class', 'money', { cents: 64_000 }] }, notes: ['begun', 'searched'] },
    });
    expect(newest.toolResults).toMatchObject({ search: { kind: 'step', value: [{ id: 'HP 204', price: 640 }] } });

    const { checkpoints } = await operator.history(run);
    const claimed = checkpoints.find(({ kind }) => kind === 'claim')?.version ?? 0;
    const { added, changed } = await operator.diff(run, claimed, newest.version);
    expect(added).toEqual([{ path: 'notes[1]', value: 'searched' }]);
    expect(changed).toEqual([{ path: 'spent.cents', before: 0, after: 64_000 }]);
  });

  it('pages through the history, forwards and backwards', async () => {
    const { operator } = operatorScene(await open());
    const { run } = await operator.start({ agent: 'trips', input: { budget: 900 } });
    await until(operator, run, 'WAITING_FOR_APPROVAL');
    const versions = async (query: { newestFirst?: boolean }) => {
      const found: number[] = [];
      for (let next: number | undefined; ; ) {
        const from = next === undefined ? {} : query.newestFirst ? { to: next } : { from: next };
        const page = await operator.history(run, { ...query, ...from, limit: 2 });
        found.push(...page.checkpoints.map(({ version }) => version));
        next = page.next;
        if (next === undefined) return found;
      }
    };
    const all = await versions({});
    expect(all).toEqual(all.map((_, i) => i + 1));
    expect(all.length).toBeGreaterThan(3);
    expect(await versions({ newestFirst: true })).toEqual(all.toReversed());
    await expect(operator.history(run, { limit: 0 })).rejects.toThrow('`limit` must be a whole number from 1 to 1000');
  });

  it('shows an approval, and loads only the payloads of this approval', async () => {
    const { operator } = operatorScene(await open());
    const { run } = await operator.start({ agent: 'trips', input: { budget: 900 } });
    await until(operator, run, 'WAITING_FOR_APPROVAL');
    const [approval] = await operator.approvals(run);
    expect(approval).toMatchObject({
      title: 'Book HP 204?',
      facts: { budget: 900 },
      status: 'PENDING',
      editable: true,
    });
    const { show } = await operator.approval(run, 'book');
    const { price, seat } = show as unknown as { price: Doc; seat: { $: [string, string] } };
    expect(price).toEqual({ $: ['class', 'money', { cents: 64_000 }] });
    const picture = await operator.payload(run, { approval: 'book' }, seat.$[1]);
    expect([picture.type, await picture.bytes()]).toEqual(['image/png', PICTURE]);
    await expect(operator.payload(run, { approval: 'book' }, 'other')).rejects.toThrow('has no payload "other"');
    await expect(operator.payload(run, { version: 1 }, seat.$[1])).rejects.toThrow('has no payload');
  });

  it('lists the inbox of a person, and all pending approvals', async () => {
    const { operator } = operatorScene(await open());
    const runs = await Promise.all([1, 2].map((budget) => operator.start({ agent: 'trips', input: { budget } })));
    for (const { run } of runs) await until(operator, run, 'WAITING_FOR_APPROVAL');
    const ids = runs.map(({ run }) => run).sort();
    const runsOf = (found: readonly { run: string }[]) => found.map(({ run }) => run).sort();
    await expect.poll(async () => runsOf(await operator.inbox('user:ann'))).toEqual(ids);
    expect(runsOf(await operator.inbox('user:bob'))).toEqual([]);
    expect(runsOf(await operator.inbox('user:bob', { groups: ['group:desk'] }))).toEqual(ids);
    await expect.poll(async () => runsOf(await operator.pendingApprovals())).toEqual(ids);
    await operator.withdraw(ids[0] ?? '', 'book', 'Not needed.');
    expect(runsOf(await operator.pendingApprovals())).toEqual(ids.slice(1));
  });

  it('forks with another state and result, keeps unknown classes, and shows the lineage', async () => {
    const { operator } = operatorScene(await open());
    const { run } = await operator.start({ agent: 'trips', input: { budget: 900 } });
    await until(operator, run, 'WAITING_FOR_APPROVAL');
    const { version, state } = await operator.checkpoint(run);
    const fork = await operator.fork(run, {
      ...{
        version,
        state: { ...(state as object), budget: 300 },
        toolResults: { search: [{ id: 'HP 9', price: 70 }] },
      },
    });
    await until(operator, fork, 'WAITING_FOR_APPROVAL');
    expect((await operator.checkpoint(fork)).state).toEqual({ ...(state as object), budget: 300 });
    expect((await operator.approval(fork, 'book')).title).toBe('Book HP 9?');
    const second = await operator.fork(fork, { id: 'what if / again?' });
    for (const each of [run, fork, second]) {
      expect(await operator.lineage(each)).toMatchObject({
        hasMore: false,
        root: { run, forks: [{ run: fork, fromVersion: version, forks: [{ run: second, forks: [] }] }] },
      });
    }
    await expect(operator.fork(run, { state: { x: { $: ['nonsense'] } } })).rejects.toThrow(
      '`state` is not a valid document',
    );
  });

  it('rewinds, cancels and retries', async () => {
    const { operator } = operatorScene(await open());
    const { run } = await operator.start({ agent: 'trips', input: { budget: 900 } });
    await until(operator, run, 'WAITING_FOR_APPROVAL');
    await operator.rewind(run, 2);
    await expect.poll(async () => (await operator.run(run)).pendingApprovals).toEqual(['book~r1']);
    await operator.decide(run, {
      approval: 'book~r1',
      by: 'user:bob',
      groups: ['group:desk'],
      answer: 'reject',
      comment: 'No.',
    });
    await expect.poll(async () => (await operator.run(run)).status).toBe('FAILED');
    expect((await operator.run(run)).error).toMatchObject({ name: 'Error', message: 'Refused: No.' });
    await operator.retry(run);
    await expect.poll(async () => (await operator.run(run)).status).toBe('FAILED');

    const other = await operator.start({ agent: 'trips', input: { budget: 900 } });
    await until(operator, other.run, 'WAITING_FOR_APPROVAL');
    expect(await operator.cancel(other.run, 'Changed my mind.')).toBe('CANCELLED');
    expect(await operator.approval(other.run, 'book')).toMatchObject({ status: 'WITHDRAWN' });
  });

  it('rewinds and forks runs that the runtime does not execute', async () => {
    const { operator, trips } = operatorScene(await open());
    const { store } = trips.with({});
    const state = (budget: number) => ({ budget, spent: [], notes: [] }) as never;
    await store.save({ run: 'plain', step: 'one', state: state(1), toolResults: { call: 'text' } });
    await store.save({ run: 'plain', expectedVersion: 1, step: 'two', state: state(2) });
    await operator.rewind('plain', 1);
    expect(await operator.checkpoint('plain')).toMatchObject({ version: 3, state: { budget: 1 }, isDurable: false });
    const fork = await operator.fork('plain', { version: 2, toolResults: { call: 'other' } });
    expect(await operator.checkpoint(fork)).toMatchObject({
      version: 1,
      state: { budget: 2 },
      toolResults: { call: 'other' },
    });
    expect((await operator.lineage('plain')).root.forks).toMatchObject([{ run: fork, fromVersion: 2 }]);
    await store.delete(fork);
    expect((await operator.lineage('plain')).root.forks).toEqual([{ run: fork, fromVersion: 2, forks: [] }]);
  });
});
