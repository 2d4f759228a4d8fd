import { describe, expect, test } from 'vitest';
import { decide, withdraw } from '../../../lambda/runtime/approvals/decide.ts';
import { processDueApproval } from '../../../lambda/runtime/approvals/due.ts';
import { memoryStorage } from '../../../lambda/storage/memory.ts';
import { HOUR } from '../../faults/clock.ts';
import { type Fault, failingStorage } from '../../faults/failing-storage.ts';
import { choices, Interleaving } from '../../faults/interleaving.ts';
import { sceneOn } from './scene.ts';

const ann = { approval: 'a', by: 'user:ann', answer: 'approve' } as const;
const bob = { ...ann, by: 'user:bob' } as const;

describe('an approval whose storage fails', () => {
  test.each<[Fault, number]>([
    ['response lost', 1],
    ['fails', 0],
  ])('is decided once when the decision is retried after the fault "%s"', async (fault, votes) => {
    const { requestApproval, at, context, head, meta, storage } = await sceneOn(memoryStorage());
    await requestApproval('a');
    const eventCount = (await head()).work?.eventCount ?? 0;
    const failing = context(failingStorage(storage, () => fault, 'STORAGE_UNAVAILABLE'));
    await expect(decide(failing, ann)).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    expect((await meta('a')).votes).toHaveLength(votes);
    expect((await decide(at, ann)).approval.meta).toMatchObject({ status: 'APPROVED', votes: [{ by: 'user:ann' }] });
    expect(await head()).toMatchObject({ status: 'READY', work: { eventCount: eventCount + 1 } });
  });

  test('is notified about again if the result of the first attempt is unknown', async () => {
    const { requestApproval, at, context, clock, storage } = await sceneOn(memoryStorage());
    await requestApproval('a');
    const notified: string[] = [];
    const notify = async ({ kind }: { kind: string }) => void notified.push(kind);
    const faults: Fault[] = [undefined, 'fails'];
    const failing = context(failingStorage(storage, () => faults.shift(), 'STORAGE_UNAVAILABLE'));
    await expect(processDueApproval(failing, 'a', { notify })).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    });
    clock.now += HOUR;
    await processDueApproval(at, 'a', { notify });
    await processDueApproval(at, 'a', { notify });
    expect(notified).toEqual(['requested', 'requested']);
  });
});

describe('concurrent changes of an approval, in any order', () => {
  const actors = {
    'ann approves': (at) => decide(at, ann),
    'ann approves again': (at) => decide(at, ann),
    'bob approves': (at) => decide(at, bob),
    'bob rejects': (at) => decide(at, { ...bob, answer: 'reject' }),
    'an operator withdraws': (at) => withdraw(at, 'a', 'x'),
    'the sweeper runs': (at) => processDueApproval(at, 'a', { notify: async () => {} }),
  } as const satisfies Record<string, (at: Parameters<typeof decide>[0]) => Promise<unknown>>;
  type Name = keyof typeof actors;

  test.each<[readonly Name[], readonly string[]]>([
    [['ann approves', 'bob approves'], ['APPROVED']],
    [['ann approves', 'ann approves again', 'bob approves'], ['APPROVED']],
    [['ann approves', 'bob rejects'], ['REJECTED']],
    [
      ['ann approves', 'bob approves', 'an operator withdraws'],
      ['APPROVED', 'WITHDRAWN'],
    ],
    [['ann approves', 'bob approves', 'the sweeper runs'], ['APPROVED']],
    [
      ['bob rejects', 'an operator withdraws'],
      ['REJECTED', 'WITHDRAWN'],
    ],
  ])('end it once and wake its run once when they are %j', async (names, ends) => {
    for (const choose of choices(60, 7)) {
      const scene = await sceneOn(memoryStorage());
      await scene.requestApproval('a', { approvers: ['user:ann', 'user:bob'], quorum: 2 });
      const eventCount = (await scene.head()).work?.eventCount ?? 0;
      const interleaving = new Interleaving(names.length);
      const outcomes = await interleaving.run(
        names.map((name, index) => async () => {
          await actors[name](scene.context(interleaving.storageFor(index, scene.storage)));
        }),
        choose,
      );
      const { status, votes } = await scene.meta('a');
      expect(ends).toContain(status);
      expect(new Set(votes.map(({ by }) => by)).size).toBe(votes.length);
      expect(await scene.head()).toMatchObject({ status: 'READY', work: { eventCount: eventCount + 1 } });
      expect((await scene.records()).filter(({ key }) => key.startsWith('b'))).toEqual([]);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected')
          expect(['APPROVAL_DECIDED', 'APPROVAL_WITHDRAWN']).toContain(outcome.reason.code);
      }
    }
  });
});
