import { describe, expect, test } from 'vitest';
import { decideByToken } from '../../../lambda/runtime/approvals/by-token.ts';
import { decide } from '../../../lambda/runtime/approvals/decide.ts';
import { processDueApproval } from '../../../lambda/runtime/approvals/due.ts';
import { viewApproval } from '../../../lambda/runtime/approvals/view.ts';
import type { ApprovalNotification } from '../../../lambda/runtime/definition/approval-notification.ts';
import { inboxKey } from '../../../lambda/storage/keys.ts';
import { keys } from '../../contract/checkpoint-store/keys.ts';
import { DAY } from '../../faults/clock.ts';
import type { OpenScene } from './contract.ts';
import { linkFor } from './scene.ts';

const EXCLUDED = { excludeRequester: true } as const;
const BY_ANN = { requestedBy: 'user:ann' } as const;
const REFUSED = {
  code: 'NOT_AN_APPROVER',
  message:
    '"user:ann" requested the run, and whoever requested it does not decide "pay" (`excludeRequester`). Another approver must decide.',
};

export function excludedRequesterContract(open: OpenScene): void {
  describe('an approval that excludes the requester', () => {
    test('refuses their vote by name, through a group and by link, and records nothing', async () => {
      const { requestApproval, at, meta, clock } = await open();
      await requestApproval('a', { ...EXCLUDED, approvers: ['user:ann', 'user:bob', 'group:finance'] }, BY_ANN);
      const ann = { approval: 'a', by: 'user:ann', answer: 'approve' } as const;
      await expect(decide(at, ann)).rejects.toMatchObject(REFUSED);
      await expect(decide(at, { ...ann, answer: 'reject' })).rejects.toMatchObject(REFUSED);
      await expect(decide(at, { ...ann, groups: ['group:finance'] })).rejects.toMatchObject(REFUSED);
      const link = {
        ...at,
        approval: 'a',
        person: 'user:ann',
        as: 'group:finance',
        expiresAt: clock.now + DAY,
      } as const;
      await expect(decideByToken(at, await linkFor(at, link), { answer: 'approve' })).rejects.toMatchObject(REFUSED);
      expect(await meta('a')).toMatchObject({ status: 'PENDING', votes: [], requestedBy: 'user:ann' });
      await decide(at, { approval: 'a', by: 'user:bob', answer: 'approve' });
      expect(await meta('a')).toMatchObject({ status: 'APPROVED', votes: [{ by: 'user:bob' }] });
    });

    test('refuses the vote of a requester whom the agent lists in a group, also in an encrypted run', async () => {
      const { requestApproval, at } = await open({ keys });
      await requestApproval('a', { ...EXCLUDED, approvers: ['group:finance'], openGroups: true }, BY_ANN);
      const ann = { approval: 'a', by: 'user:ann', answer: 'approve' } as const;
      await expect(decide(at, ann)).rejects.toMatchObject(REFUSED);
      await processDueApproval(at, 'a', { notify: async () => {}, members: async () => ['user:ann', 'user:bob'] });
      await expect(decide(at, ann)).rejects.toMatchObject(REFUSED);
      expect(await viewApproval(at, 'a')).toMatchObject({ requestedBy: 'user:ann', excludeRequester: true });
    });

    test('is in no inbox of theirs, and they get no link', async () => {
      const { requestApproval, at, inbox, records } = await open();
      const notices: ApprovalNotification[] = [];
      await requestApproval('a', { ...EXCLUDED, approvers: ['user:ann', 'user:bob', 'group:finance'] }, BY_ANN);
      await requestApproval('b', { ...EXCLUDED, approvers: ['user:bob', 'user:ann'] }, BY_ANN);
      await requestApproval('c', { approvers: ['user:ann'] }, BY_ANN);
      expect(await inbox('user:ann', ['group:finance'])).toEqual(['c']);
      expect((await records()).map(({ key }) => key)).not.toContain(inboxKey('b', 'user:ann'));
      expect((await inbox('user:bob')).toSorted()).toEqual(['a', 'b']);
      expect(await inbox('user:cho', ['group:finance'])).toEqual(['a']);
      await processDueApproval(at, 'a', {
        url: 'https://example.com',
        notify: async (notice) => void notices.push(notice),
        members: async () => ['user:ann', 'user:cho'],
      });
      expect(notices[0]?.links.map(({ person }) => person)).toEqual(['user:bob', 'user:cho']);
    });

    test('is refused if nobody knows who the requester is, or if too few others can approve', async () => {
      const { requestApproval, records } = await open();
      const before = await records();
      await expect(requestApproval('a', EXCLUDED)).rejects.toMatchObject({
        code: 'REQUESTER_UNKNOWN',
        message: expect.stringContaining('Start the run with `requestedBy`'),
      });
      await expect(requestApproval('a', EXCLUDED, BY_ANN)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      const two = { ...EXCLUDED, approvers: ['user:ann', 'user:bob'], quorum: 2 } as const;
      await expect(requestApproval('a', two, BY_ANN)).rejects.toThrow(
        '`quorum` must be at most 1, the number of approvers besides user:ann',
      );
      expect(await records()).toEqual(before);
      await requestApproval('a', { ...two, approvers: ['user:ann', 'group:finance'] }, BY_ANN);
    });
  });
}
