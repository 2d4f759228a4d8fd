import { describe, expect, it } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { agent, localKeys } from '../../lambda/index.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage, Write } from '../../lambda/storage/ports.ts';

/** A storage whose indexes show nothing new until they catch up, as eventually consistent indexes do. */
function lateLists(): { readonly storage: Storage; catchUp(): Promise<void> } {
  const now = memoryStorage();
  const then = memoryStorage();
  const missed: (readonly Write[])[] = [];
  const records = {
    ...now.records,
    list: then.records.list,
    async commit(writes: readonly Write[]) {
      await now.records.commit(writes);
      missed.push(writes);
    },
  };
  return {
    storage: { ...now, records },
    async catchUp() {
      for (const writes of missed.splice(0)) await then.records.commit(writes);
    },
  };
}

const keys = localKeys({ current: 'k', keys: { k: new Uint8Array(32).fill(7) } });

function scene() {
  const { storage, catchUp } = lateLists();
  const trips = agent(
    {
      name: 'trips',
      run: async (ctx) => (await ctx.approval('book', { title: 'Book?', approvers: ['user:ann'] })).approved,
    },
    { storage, keys },
  );
  const invoke = (run: string) => trips.invoke({ run }, { by: 'me', until: Date.now() + 60_000 });
  return { operator: createOperator(trips.runtime), invoke, catchUp, store: createCheckpointStore(storage, { keys }) };
}

describe('an index that is behind', () => {
  it('lists a new run later, while the run is found by its id at once', async () => {
    const { operator, catchUp } = scene();
    const { run } = await operator.start({ agent: 'trips' });
    expect((await operator.run(run)).status).toBe('READY');
    expect((await operator.runs()).runs).toEqual([]);
    await catchUp();
    expect((await operator.runs()).runs).toMatchObject([{ run, status: 'READY' }]);
  });

  it('puts no decided approval into an inbox, and a decision counts once', async () => {
    const { operator, invoke, catchUp } = scene();
    const { run } = await operator.start({ agent: 'trips' });
    await invoke(run);
    await catchUp();
    expect(await operator.inbox('user:ann')).toMatchObject([{ run, id: 'book' }]);
    expect(await operator.pendingApprovals()).toMatchObject([{ run, id: 'book' }]);

    await operator.decide(run, { approval: 'book', by: 'user:ann', answer: 'approve' });
    expect((await operator.runs({ status: 'WAITING_FOR_APPROVAL' })).runs).toMatchObject([{ run }]);
    expect(await operator.inbox('user:ann')).toEqual([]);
    expect(await operator.pendingApprovals()).toEqual([]);
    const late = operator.decide(run, { approval: 'book', by: 'user:ann', answer: 'reject' });
    await expect(late).rejects.toMatchObject({ code: 'APPROVAL_DECIDED' });
    await invoke(run);
    expect(await operator.run(run)).toMatchObject({ status: 'SUCCEEDED', result: true });
  });

  it('puts no unreadable approval into an inbox, but all others', async () => {
    const { operator, invoke, catchUp, store } = scene();
    for (const id of ['shredded', 'whole']) {
      await operator.start({ agent: 'trips', id });
      await invoke(id);
    }
    await store.shred('shredded');
    await catchUp();
    expect(await operator.inbox('user:ann')).toMatchObject([{ run: 'whole' }]);
    expect(await operator.pendingApprovals()).toMatchObject([{ run: 'whole' }]);
  });

  it('lists a deleted run until it catches up, but the run cannot be loaded', async () => {
    const { operator, catchUp } = scene();
    const { run } = await operator.start({ agent: 'trips' });
    await catchUp();
    await operator.cancel(run);
    expect((await operator.runs({ status: 'READY' })).runs).toMatchObject([{ run }]);
    expect((await operator.run(run)).status).toBe('CANCELLED');
    await catchUp();
    expect((await operator.runs({ status: 'READY' })).runs).toEqual([]);
    expect((await operator.runs({ status: 'CANCELLED' })).runs).toMatchObject([{ run }]);
  });
});
