import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readLiveHead } from '../../../lambda/checkpoints/read-head.ts';
import type { VoteAnswer } from '../../../lambda/core/approval.ts';
import { APPROVERS } from './agents.ts';
import { outcomeOf } from './outcome.ts';
import { SHARED_STORAGES, type SharedStorage } from './shared-storage.ts';
import type { Worker } from './worker.ts';
import { WorkerPool } from './worker-pool.ts';

const NOW = Date.UTC(2030, 0, 1);

describe.each(SHARED_STORAGES)('ten processes that decide an approval concurrently %s', (_, open) => {
  let shared: SharedStorage;
  let pool: WorkerPool;
  let workers: readonly Worker[];
  beforeAll(async () => {
    shared = await open();
    pool = new WorkerPool(shared);
    const first = pool.of(3);
    // It fills the compile cache for the others.
    await first.perform({ do: 'sweep', agent: 'vote', run: 'none', now: NOW });
    workers = APPROVERS.map((_, i) => (i === 0 ? first : pool.of(3)));
  });
  afterAll(async () => {
    await pool.close();
    await shared.close();
  });

  /** Lets all of them decide at the same moment; returns the reply to each, and the outcome. */
  async function decide(run: string, quorum: number, answerOf: (i: number) => VoteAnswer) {
    const [first] = workers as readonly [Worker];
    const command = { agent: 'vote', run, now: NOW };
    const invoke = { ...command, do: 'invoke', seconds: 60 } as const;
    await first.perform({ ...command, do: 'start', input: { quorum } });
    await first.perform({ ...invoke, by: 'first' });
    const all = workers.map((worker, i) => ({ worker, by: `user:${i}` as const, answer: answerOf(i) }));
    for (const { worker, by, answer } of all)
      worker.send({ ...command, do: 'decide', approval: 'vote', by, answer, held: true });
    // Each has read the approval before anyone has decided.
    for (const { worker } of all) await worker.advanceTo('to commit');
    const replies = await Promise.all(all.map(({ worker }) => worker.finish()));
    const agent = shared.agents(NOW).get('vote');
    if (!agent) throw new Error('Unknown agent.');
    const { meta } = await readLiveHead(await agent.runtime.contexts.forRun(run));
    expect([meta.status, meta.work?.eventCount]).toEqual(['READY', 1]);
    await first.perform({ ...invoke, by: 'second' });
    const { result, status, effects } = await outcomeOf(shared, 'vote', run);
    expect([status, effects]).toEqual(['SUCCEEDED', ['count']]);
    expect(await shared.effects(run)).toHaveLength(1);
    return { replies: replies.map((each) => ('error' in each ? each.error : each.value)), result: Object(result) };
  }

  test('are all counted when the quorum needs all of them, and wake the run once', async () => {
    const { replies, result } = await decide('all', 10, () => 'approve');
    expect(replies.toSorted()).toEqual(['APPROVED', ...Array(9).fill('PENDING')]);
    expect(result.by.toSorted()).toEqual(APPROVERS);
    expect(result.approved).toBe(true);
  });

  test('are counted up to the quorum, and wake the run once', async () => {
    const { replies, result } = await decide('three', 3, () => 'approve');
    expect(result.approved).toBe(true);
    expect(result.by).toHaveLength(3);
    // Approvers after the quorum get the final status.
    expect(replies.toSorted()).toEqual([...Array(8).fill('APPROVED'), 'PENDING', 'PENDING']);
  });

  test('get the decision of the first one, or a conflict, when they disagree', async () => {
    const { replies, result } = await decide('one', 1, (i) => (i % 2 === 0 ? 'approve' : 'reject'));
    expect(result.by).toHaveLength(1);
    const isFor = Number(result.by[0].slice('user:'.length)) % 2 === 0;
    expect(result.approved).toBe(isFor);
    const end = isFor ? 'APPROVED' : 'REJECTED';
    expect(replies).toEqual(APPROVERS.map((_, i) => ((i % 2 === 0) === isFor ? end : 'APPROVAL_DECIDED')));
  });
});
