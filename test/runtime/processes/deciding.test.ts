import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readLiveHead } from '../../../lambda/checkpoints/read-head.ts';
import type { VoteAnswer } from '../../../lambda/core/approval.ts';
import { APPROVERS } from './agents.ts';
import { outcomeOf } from './outcome.ts';
import { SHARED_STORAGES, type SharedStorage } from './shared-storage.ts';
import type { Worker } from './worker.ts';
import { WorkerPool } from './worker-pool.ts';

const NOW = Date.UTC(2030, 0, 1);

describe.each(SHARED_STORAGES)('ten processes that decide an approval at once %s', (_, open) => {
  let place: SharedStorage;
  let crew: WorkerPool;
  let workers: readonly Worker[];
  beforeAll(async () => {
    place = await open();
    crew = new WorkerPool(place);
    const first = crew.of(3);
    // It leaves its compiled code to the others.
    await first.does({ do: 'sweep', agent: 'vote', run: 'none', now: NOW });
    workers = APPROVERS.map((_, i) => (i === 0 ? first : crew.of(3)));
  });
  afterAll(async () => {
    await crew.close();
    await place.close();
  });

  /** Has all of them answer at the same moment; gives what each was told, and what came of it. */
  async function decide(run: string, quorum: number, answerOf: (i: number) => VoteAnswer) {
    const [first] = workers as readonly [Worker];
    const command = { agent: 'vote', run, now: NOW };
    const invoke = { ...command, do: 'invoke', seconds: 60 } as const;
    await first.does({ ...command, do: 'start', input: { quorum } });
    await first.does({ ...invoke, by: 'first' });
    const all = workers.map((worker, i) => ({ worker, by: `user:${i}`, answer: answerOf(i) }));
    for (const { worker, by, answer } of all)
      worker.tell({ ...command, do: 'decide', approval: 'vote', by, answer, held: true });
    // Each has read the approval as it is while nobody has answered.
    for (const { worker } of all) await worker.reaches('to commit');
    const told = await Promise.all(all.map(({ worker }) => worker.finishes()));
    const agent = place.agents(NOW).get('vote');
    if (!agent) throw new Error('There is no agent.');
    const { meta } = await readLiveHead(await agent.runtime.contexts.forRun(run));
    expect([meta.status, meta.work?.wake]).toEqual(['READY', 1]);
    await first.does({ ...invoke, by: 'second' });
    const { result, status, effects } = await outcomeOf(place, 'vote', run);
    expect([status, effects]).toEqual(['SUCCEEDED', ['count']]);
    expect(await place.effects(run)).toHaveLength(1);
    return { told: told.map((each) => ('error' in each ? each.error : each.value)), result: Object(result) };
  }

  test('are all counted when all are needed, and the run wakes once', async () => {
    const { told, result } = await decide('all', 10, () => 'approve');
    expect(told.toSorted()).toEqual(['APPROVED', ...Array(9).fill('PENDING')]);
    expect(result.by.toSorted()).toEqual(APPROVERS);
    expect(result.approved).toBe(true);
  });

  test('are counted up to the quorum, and the run wakes once', async () => {
    const { told, result } = await decide('three', 3, () => 'approve');
    expect(result.approved).toBe(true);
    expect(result.by).toHaveLength(3);
    // Who comes after the end is told what came of it.
    expect(told.toSorted()).toEqual([...Array(8).fill('APPROVED'), 'PENDING', 'PENDING']);
  });

  test('and do not agree: one of them decides, and the others are told', async () => {
    const { told, result } = await decide('one', 1, (i) => (i % 2 === 0 ? 'approve' : 'reject'));
    expect(result.by).toHaveLength(1);
    const isFor = Number(result.by[0].slice('user:'.length)) % 2 === 0;
    expect(result.approved).toBe(isFor);
    const end = isFor ? 'APPROVED' : 'REJECTED';
    expect(told).toEqual(APPROVERS.map((_, i) => ((i % 2 === 0) === isFor ? end : 'APPROVAL_DECIDED')));
  });
});
