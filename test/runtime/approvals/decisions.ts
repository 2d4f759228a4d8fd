import { describe, expect, test } from 'vitest';
import { createCheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import { cipherFor } from '../../../lambda/checkpoints/encryption/cipher-for.ts';
import { plaintext } from '../../../lambda/checkpoints/encryption/run-cipher.ts';
import { readLiveHead } from '../../../lambda/checkpoints/read-head.ts';
import type { Person } from '../../../lambda/core/approval.ts';
import {
  createApprovalWrites,
  readApprovals,
  withdrawApprovalWrites,
} from '../../../lambda/runtime/approvals/approval-records.ts';
import { decide, remind, withdraw } from '../../../lambda/runtime/approvals/decide.ts';
import { toDecision } from '../../../lambda/runtime/approvals/decision.ts';
import { processDueApproval } from '../../../lambda/runtime/approvals/due.ts';
import { toApprovalView, viewApproval } from '../../../lambda/runtime/approvals/view.ts';
import { ConditionFailedError } from '../../../lambda/storage/ports.ts';
import { errorOf } from '../../contract/checkpoint-store/stores.ts';
import { HOUR } from '../../faults/clock.ts';
import { noise } from '../../faults/seeded.ts';
import type { OpenScene } from './contract.ts';

const ann = { by: 'user:ann', answer: 'approve' } as const;
const bob = { by: 'user:bob', answer: 'approve' } as const;

export function decisionsContract(open: OpenScene): void {
  describe('a decision', () => {
    test('wakes the run and removes the approval from the pending ones, in one transaction', async () => {
      const { requestApproval, at, head } = await open();
      await requestApproval('a');
      await requestApproval('b');
      const before = await head();
      expect(before).toMatchObject({ status: 'WAITING_FOR_APPROVAL', work: { approvals: ['a', 'b'] } });
      const decided = await decide(at, { approval: 'a', ...ann });
      expect(decided.isChanged).toBe(true);
      expect(decided.approval.meta).toMatchObject({
        status: 'APPROVED',
        outcome: 'approve',
        votes: [{ by: 'user:ann' }],
      });
      const after = await head();
      expect(after).toMatchObject({
        status: 'READY',
        work: { approvals: ['b'], eventCount: (before.work?.eventCount ?? 0) + 1 },
      });
      await decide(at, { approval: 'b', by: 'user:ann', answer: 'reject' });
      expect((await head()).work?.approvals).toBeUndefined();
    });

    test('returns the request with comment and edits', async () => {
      const { requestApproval, at, clock } = await open();
      const show = { amount: 12n, since: new Date(0), lines: new Map([['a', 1]]) };
      const facts = { rate: 1.1 };
      const changed = { before: { rate: 1 }, after: facts };
      await requestApproval(
        'a',
        { show, facts, timeout: { hours: 1 }, editable: true },
        { agent: 'payer', requestNumber: 2, changed },
      );
      clock.now += 5;
      const { contentHash } = await viewApproval(at, 'a');
      const given = { comment: 'fine', edits: { amount: [1, null] } };
      const view = await toApprovalView(await decide(at, { approval: 'a', ...ann, ...given, contentHash }));
      expect(view).toEqual({
        ...{ tenant: at.tenant, run: at.run, id: 'a', agent: 'payer', name: 'pay', requestNumber: 2 },
        ...{ status: 'APPROVED', outcome: 'approve', title: 'Pay the invoice?', show, facts, changed },
        ...{ contentHash: expect.stringMatching(/^[0-9a-f]{64}$/), approvers: ['user:ann'], quorum: 1, editable: true },
        requestedAt: new Date(clock.now - 5),
        deadline: new Date(clock.now - 5 + HOUR),
        endedAt: new Date(clock.now),
        votes: [{ ...ann, at: new Date(clock.now), ...given, counts: true }],
        proposal: { by: 'user:ann', at: new Date(clock.now), edits: given.edits },
      });
      expect(await viewApproval(at, 'a')).toEqual(view);
    });

    test('counts for exactly what its voter saw: an edit is a proposal that earlier approvals do not cover', async () => {
      const { requestApproval, at, meta, inbox } = await open();
      const people = ['user:ann', 'user:bob', 'user:cho'] as const;
      await requestApproval('a', { facts: { amount: 80 }, approvers: people, quorum: 2, editable: true });
      const requested = await viewApproval(at, 'a');
      await decide(at, { approval: 'a', ...ann, contentHash: requested.contentHash });
      await decide(at, { approval: 'a', ...bob, contentHash: requested.contentHash, edits: { amount: 79 } });
      const proposed = await viewApproval(at, 'a');
      expect(proposed).toMatchObject({
        status: 'PENDING',
        proposal: { by: 'user:bob', edits: { amount: 79 } },
        votes: [
          { by: 'user:ann', counts: false },
          { by: 'user:bob', counts: true, edits: { amount: 79 } },
        ],
      });
      expect(proposed.contentHash).not.toBe(requested.contentHash);
      expect(await meta('a')).toMatchObject({ pendingNotification: 'proposed' });
      expect([await inbox('user:ann'), await inbox('user:bob'), await inbox('user:cho')]).toEqual([['a'], [], ['a']]);
      const onOld = { approval: 'a', by: 'user:cho', answer: 'approve' } as const;
      await expect(decide(at, { ...onOld, contentHash: requested.contentHash })).rejects.toThrow('has changed since');
      await expect(decide(at, onOld)).rejects.toThrow('because user:bob proposed changes');
      const decided = await decide(at, { approval: 'a', ...ann, contentHash: proposed.contentHash });
      expect(decided.approval.meta).toMatchObject({ status: 'APPROVED' });
      expect(toDecision(at, await decided.cipher(), decided.approval)).toMatchObject({
        approved: true,
        by: ['user:bob', 'user:ann'],
        edits: { amount: 79 },
        contentHash: proposed.contentHash,
      });
    });

    test('can be sent again if it has changes, is recorded once, and stays the proposal of its voter', async () => {
      const { requestApproval, at } = await open();
      await requestApproval('a', { approvers: ['user:ann', 'user:bob', 'user:cho'], quorum: 2, editable: true });
      const { contentHash } = await viewApproval(at, 'a');
      const proposal = { approval: 'a', ...bob, edits: { amount: 79 } };
      for (const shown of [{ contentHash }, { contentHash }, {}]) await decide(at, { ...proposal, ...shown });
      expect(await viewApproval(at, 'a')).toMatchObject({ status: 'PENDING', votes: [{ by: 'user:bob' }] });
      const other = { ...proposal, by: 'user:cho', edits: { amount: 78 }, contentHash } as const;
      await expect(decide(at, other)).rejects.toThrow('has changed since');
      await decide(at, { ...proposal, ...ann, contentHash });
      expect(await viewApproval(at, 'a')).toMatchObject({
        status: 'APPROVED',
        proposal: { by: 'user:bob', edits: { amount: 79 } },
        votes: [{ by: 'user:bob' }, { by: 'user:ann' }],
      });
    });

    test('approves the request itself at the deadline, not proposed changes without enough votes', async () => {
      const { requestApproval, at, clock } = await open();
      const terms = { approvers: ['user:ann', 'user:bob'], quorum: 2, editable: true } as const;
      await requestApproval('a', { ...terms, timeout: { hours: 1 }, onTimeout: 'approve' });
      const { contentHash } = await viewApproval(at, 'a');
      await decide(at, { approval: 'a', ...bob, edits: { amount: 79 } });
      clock.now += HOUR;
      await processDueApproval(at, 'a', undefined);
      const [expired] = await readApprovals(at, ['a']);
      const decision = expired && toDecision(at, plaintext, expired);
      expect(decision).toMatchObject({ approved: true, status: 'EXPIRED', by: [], contentHash });
      expect(decision).not.toHaveProperty('edits');
    });

    test('counts if both people of a quorum decide at the same time, and wakes the run once', async () => {
      const { requestApproval, context, head, meta } = await open();
      await requestApproval('a', { approvers: ['user:ann', 'user:bob', 'user:eve'], quorum: 2 });
      const eventCount = (await head()).work?.eventCount ?? 0;
      await Promise.all([ann, bob].map((vote) => decide(context(), { approval: 'a', ...vote })));
      expect((await meta('a')).votes.map(({ by }) => by).sort()).toEqual(['user:ann', 'user:bob']);
      expect(await meta('a')).toMatchObject({ status: 'APPROVED' });
      expect(await head()).toMatchObject({ status: 'READY', work: { eventCount: eventCount + 1 } });
    });

    test('wins over a different one at the same time, which is refused with the name of the winner', async () => {
      const { requestApproval, context, head, meta } = await open();
      await requestApproval('a', { approvers: ['user:ann', 'user:bob'] });
      const eventCount = (await head()).work?.eventCount ?? 0;
      const results = await Promise.allSettled([
        decide(context(), { approval: 'a', ...ann }),
        decide(context(), { approval: 'a', by: 'user:bob', answer: 'reject' }),
      ]);
      const lost = results.filter((result) => result.status === 'rejected');
      expect(lost).toHaveLength(1);
      const [vote] = (await meta('a')).votes;
      expect(lost[0]?.reason).toMatchObject({
        code: 'APPROVAL_DECIDED',
        message: expect.stringContaining(`${vote?.by} voted ${vote?.answer}`),
      });
      expect((await head()).work?.eventCount).toBe(eventCount + 1);
    });

    test('changes nothing when repeated', async () => {
      const { requestApproval, at, clock, head } = await open();
      await requestApproval('a', { timeout: { hours: 1 } });
      const first = await decide(at, { approval: 'a', ...ann, comment: 'one' });
      const { work } = await head();
      clock.now += 2 * HOUR;
      const again = await decide(at, { approval: 'a', ...ann, comment: 'two' });
      expect(again.isChanged).toBe(false);
      expect(await toApprovalView(again)).toEqual(await toApprovalView(first));
      expect((await head()).work).toEqual(work);
      await expect(decide(at, { approval: 'a', by: 'user:ann', answer: 'reject' })).rejects.toMatchObject({
        code: 'APPROVAL_DECIDED',
      });
    });

    test('is refused at the deadline, and the approval then expires', async () => {
      const { requestApproval, at, clock, head, meta } = await open();
      await requestApproval('a', { timeout: { hours: 1 }, onTimeout: 'approve' });
      clock.now += HOUR;
      expect(await viewApproval(at, 'a')).toMatchObject({ status: 'EXPIRED', outcome: 'approve' });
      expect((await meta('a')).status).toBe('PENDING');
      for (let time = 0; time < 2; time++)
        await expect(decide(at, { approval: 'a', ...ann })).rejects.toMatchObject({ code: 'APPROVAL_EXPIRED' });
      expect(await meta('a')).toMatchObject({ status: 'EXPIRED', outcome: 'approve', votes: [] });
      expect(await head()).toMatchObject({ status: 'READY', work: { eventCount: 2 } });
    });

    test('counts in the last millisecond', async () => {
      const { requestApproval, at, clock } = await open();
      await requestApproval('a', { timeout: { hours: 1 } });
      clock.now += HOUR - 1;
      expect((await decide(at, { approval: 'a', ...ann })).approval.meta).toMatchObject({ status: 'APPROVED' });
    });

    test('counts once for each member of a group', async () => {
      const { requestApproval, at, meta } = await open();
      await requestApproval('a', { approvers: ['group:finance', 'group:legal'], quorum: 2 });
      const groups = ['group:legal', 'group:sales'];
      await decide(at, { approval: 'a', ...ann, groups });
      await decide(at, { approval: 'a', ...ann, groups: ['group:finance'] });
      expect(await meta('a')).toMatchObject({ status: 'PENDING', votes: [{ by: 'user:ann', as: 'group:legal' }] });
      await decide(at, { approval: 'a', ...bob, groups });
      expect(await meta('a')).toMatchObject({ status: 'APPROVED' });
    });

    test('is refused for a person who is not an approver', async () => {
      const { requestApproval, at, records } = await open();
      await requestApproval('a', { approvers: ['user:ann', 'group:finance'], timeout: { hours: 1 } });
      const before = await records();
      const eve = { approval: 'a', answer: 'approve' } as const;
      for (const groups of [[], ['group:sales']])
        await expect(decide(at, { ...eve, by: 'user:eve', groups })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      for (const by of ['group:finance', 'ann', 'user:', ''])
        await expect(decide(at, { ...eve, by: by as Person })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      for (const groups of [['user:ann'], ['finance'], 'group:finance' as unknown as string[]])
        await expect(decide(at, { ...eve, by: 'user:eve', groups })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      expect(await records()).toEqual(before);
    });

    test.each([
      [
        'with the hash of another request',
        { contentHash: 'f'.repeat(64) },
        'has changed since you loaded it',
        'APPROVAL_CHANGED',
      ],
      ['with edits of an approval that is not editable', { edits: {} }, 'cannot be edited'],
      ['with a comment that is too long', { comment: 'x'.repeat(10_001) }, '`comment`'],
      ['with edits that are too large', { edits: 'x'.repeat(64 * 1024) }, '`edits`'],
      ['with edits that are not JSON', { edits: { at: new Date(0) } }, '`edits`'],
      ['with edits that JSON cannot express', { edits: [1n] }, '`edits`'],
    ])('is refused %s', async (_, input, message, code = 'INVALID_INPUT') => {
      const { requestApproval, at, records } = await open();
      await requestApproval('a');
      const before = await records();
      await expect(decide(at, { approval: 'a', ...ann, ...input })).rejects.toMatchObject({
        code,
        message: expect.stringContaining(message),
      });
      expect(await records()).toEqual(before);
    });

    test('is accepted with long comments of eight people up to the size limit, and always without a comment', async () => {
      const { requestApproval, at, meta } = await open();
      const people = Array.from({ length: 8 }, (_, index) => `user:${index}` as const);
      await requestApproval('a', { approvers: people, quorum: 8, editable: true });
      const refused: string[] = [];
      for (const by of people) {
        const { contentHash } = await viewApproval(at, 'a');
        const bare = { approval: 'a', by, answer: 'approve', contentHash } as const;
        const error = await decide(at, { ...bare, edits: noise(by, 60_000) }).catch((reason) => reason);
        if (!(error instanceof Error)) continue;
        expect(error).toMatchObject({ code: 'INVALID_INPUT', message: expect.stringContaining('200 KB') });
        refused.push(by);
        await decide(at, bare);
      }
      expect(refused).toHaveLength(5);
      const { contentHash } = await viewApproval(at, 'a');
      for (const by of people) await decide(at, { approval: 'a', by, answer: 'approve', contentHash });
      expect(await meta('a')).toMatchObject({ status: 'APPROVED' });
    });

    test('throws APPROVAL_NOT_FOUND for an unknown run, an unknown approval or a deleted run', async () => {
      const { requestApproval, at, storage, clock } = await open();
      await requestApproval('a');
      const missing = { code: 'APPROVAL_NOT_FOUND' };
      await expect(decide(at, { approval: 'b', ...ann })).rejects.toMatchObject(missing);
      const nowhere = { ...at, run: 'none', partition: `${at.partition}none` };
      await expect(decide(nowhere, { approval: 'a', ...ann })).rejects.toMatchObject(missing);
      await createCheckpointStore(storage, { tenant: at.tenant, clock: clock.read }).delete(at.run);
      const attempts = [
        () => decide(at, { approval: 'a', ...ann }),
        () => viewApproval(at, 'a'),
        () => withdraw(at, 'a', 'x'),
      ];
      for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject(missing);
    });

    test('is refused after a withdrawal, which wakes the run once', async () => {
      const { requestApproval, at, head, inbox } = await open();
      await requestApproval('a');
      expect((await withdraw(at, 'a', 'not needed')).approval.meta).toMatchObject({
        ...{ status: 'WITHDRAWN', outcome: 'reject', withdrawalReason: 'not needed' },
      });
      const { work } = await head();
      await withdraw(at, 'a', 'again');
      expect((await head()).work).toEqual(work);
      expect(await inbox('user:ann')).toEqual([]);
      await expect(decide(at, { approval: 'a', ...ann })).rejects.toMatchObject({
        code: 'APPROVAL_WITHDRAWN',
        message: expect.stringContaining('not needed'),
      });
    });

    test('is not needed after a cancel, which removes the withdrawn approvals from every inbox', async () => {
      const { requestApproval, at, storage, inbox, meta } = await open();
      await requestApproval('a', { approvers: ['user:ann', 'user:bob'] });
      await requestApproval('b', { approvers: ['user:bob', 'user:eve'] });
      await requestApproval('c');
      await decide(at, { approval: 'c', ...ann });
      const approvals = await readApprovals(at, ['a', 'none', 'b', 'c', 'a']);
      expect(approvals.map(({ id }) => id)).toEqual(['a', 'b', 'c']);
      await storage.records.commit(withdrawApprovalWrites(at, approvals, 'cancelled'));
      for (const who of ['user:ann', 'user:bob', 'user:eve'] as const) expect(await inbox(who)).toEqual([]);
      expect([(await meta('a')).status, (await meta('b')).status, (await meta('c')).status]).toEqual([
        ...['WITHDRAWN', 'WITHDRAWN', 'APPROVED'],
      ]);
    });

    test('is recorded for a run that is executing', async () => {
      const { requestApproval, at, head } = await open({ status: 'RUNNING' });
      await requestApproval('a');
      const eventCount = (await head()).work?.eventCount ?? 0;
      await decide(at, { approval: 'a', ...ann });
      expect(await head()).toMatchObject({ status: 'RUNNING', work: { eventCount: eventCount + 1 } });
    });

    test('belongs to one request: a second request with the same id is refused', async () => {
      const { requestApproval, at, storage } = await open();
      await requestApproval('a');
      const cipher = await cipherFor(at, (await readLiveHead(at)).meta);
      const again = { title: 'Again?', approvers: ['user:eve'] } as const;
      const writes = await createApprovalWrites(at, cipher, 'a', again, { name: 'pay', requestNumber: 1 });
      expect(await errorOf(storage.records.commit(writes))).toBeInstanceOf(ConditionFailedError);
    });

    test('ends reminders, which an operator can send at any time', async () => {
      const { requestApproval, at, meta, clock } = await open();
      await requestApproval('a');
      clock.now += HOUR;
      await remind(at, 'a');
      expect(await meta('a')).toMatchObject({ notifyAt: clock.now });
      await decide(at, { approval: 'a', ...ann });
      expect((await remind(at, 'a')).approval.meta).toMatchObject({ status: 'APPROVED' });
      expect((await meta('a')).pendingNotification).toBeUndefined();
    });
  });
}
