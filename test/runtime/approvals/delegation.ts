import { describe, expect, test } from 'vitest';
import type { DelegateInput } from '../../../lambda/core/delegation.ts';
import { decideByToken, findByToken } from '../../../lambda/runtime/approvals/by-token.ts';
import { decide } from '../../../lambda/runtime/approvals/decide.ts';
import type { DecideInput } from '../../../lambda/runtime/approvals/decide-input.ts';
import { delegate, endDelegation, listDelegations } from '../../../lambda/runtime/approvals/delegations.ts';
import { processDueApproval } from '../../../lambda/runtime/approvals/due.ts';
import { inbox } from '../../../lambda/runtime/approvals/inbox.ts';
import { viewApproval } from '../../../lambda/runtime/approvals/view.ts';
import type { ApprovalNotification } from '../../../lambda/runtime/definition/approval-notification.ts';
import { delegationKey, delegationsPartition } from '../../../lambda/storage/keys.ts';
import { keys } from '../../contract/checkpoint-store/keys.ts';
import { all } from '../../contract/checkpoint-store/stores.ts';
import { eventually } from '../../contract/eventually.ts';
import { DAY, HOUR } from '../../faults/clock.ts';
import type { OpenScene } from './contract.ts';
import type { ApprovalScene, SceneOptions } from './scene.ts';

const CHO = 'user:cho';
const ANN = 'user:ann';
const CHO_APPROVES: DecideInput = { approval: 'a', by: CHO, answer: 'approve' };
const FOR_ANN: DecideInput = { ...CHO_APPROVES, for: ANN };

export function delegationContract(open: OpenScene): void {
  /** A scene in which cho answers for ann for five days. */
  async function whileAway(options?: SceneOptions, input: Partial<DelegateInput> = {}) {
    const scene = await open(options);
    const { at, clock } = scene;
    const until = new Date(clock.now + 5 * DAY);
    await delegate(at, { person: ANN, delegate: CHO, until, ...input });
    return { ...scene, until };
  }

  const namesIn = async ({ at }: ApprovalScene, person: 'user:cho' | 'user:dan', groups: readonly string[] = []) =>
    (await all(inbox(at, person, { groups }))).map(({ approval, for: of }) => [approval.id, of]);

  describe('a delegate', () => {
    test('votes for the person who is away, and the vote records both and the delegation', async () => {
      const { requestApproval, at, meta, clock, until } = await whileAway({}, { createdBy: 'user:admin' });
      await requestApproval('a', { approvers: [ANN, 'user:bob'] });
      await decide(at, { ...CHO_APPROVES, comment: 'ok' });
      expect(await meta('a')).toMatchObject({ status: 'APPROVED', votes: [{ by: CHO, for: ANN, answer: 'approve' }] });
      const [vote] = (await viewApproval(at, 'a')).votes;
      expect(vote).toEqual({
        ...{ by: CHO, for: ANN, answer: 'approve', at: new Date(clock.now), counts: true, comment: 'ok' },
        delegation: { from: new Date(clock.now), until, createdBy: 'user:admin', createdAt: new Date(clock.now) },
      });
    });

    test('votes as a known member of a group, also in an encrypted run', async () => {
      const { requestApproval, at, meta } = await whileAway({ keys });
      await requestApproval('a', { approvers: ['group:finance'] });
      await expect(decide(at, CHO_APPROVES)).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      await expect(decide(at, FOR_ANN)).rejects.toMatchObject({
        code: 'NOT_AN_APPROVER',
        message: expect.stringContaining('"user:ann" is not an approver of "pay"'),
      });
      await processDueApproval(at, 'a', { notify: async () => {}, members: async () => [ANN, 'user:bob'] });
      await decide(at, { ...CHO_APPROVES, comment: 'ok' });
      expect((await meta('a')).votes).toMatchObject([{ by: CHO, for: ANN, as: 'group:finance' }]);
      expect(JSON.stringify(await meta('a'))).not.toContain('"comment"');
    });

    test('cannot vote for a group that only their own login says the person belongs to', async () => {
      const { requestApproval, at } = await whileAway();
      await requestApproval('a', { approvers: ['group:board'] });
      await expect(decide(at, { ...FOR_ANN, groups: ['group:board'] })).rejects.toMatchObject({
        code: 'NOT_AN_APPROVER',
      });
      // In their own right, they can.
      await decide(at, { ...CHO_APPROVES, groups: ['group:board'] });
    });

    test('has one vote, also as an approver and for several people', async () => {
      const { requestApproval, at, meta, clock } = await whileAway();
      const approvers = [ANN, CHO, 'user:bob', 'user:eve'] as const;
      await delegate(at, { person: 'user:bob', delegate: CHO, until: new Date(clock.now + DAY) });
      await requestApproval('a', { approvers, quorum: 2 });
      await decide(at, CHO_APPROVES);
      const second = { code: 'APPROVAL_DECIDED', message: expect.stringContaining('One person has one vote') };
      await expect(decide(at, FOR_ANN)).rejects.toMatchObject(second);
      await expect(decide(at, { ...FOR_ANN, for: 'user:bob' })).rejects.toMatchObject(second);
      expect(await meta('a')).toMatchObject({ status: 'PENDING', votes: [{ by: CHO }] });
      await requestApproval('b', { approvers, quorum: 2 });
      await decide(at, { ...FOR_ANN, approval: 'b' });
      await expect(decide(at, { ...CHO_APPROVES, approval: 'b' })).rejects.toMatchObject(second);
      // The vote for ann is the vote of ann, who can repeat it but not add another.
      await decide(at, { approval: 'b', by: ANN, answer: 'approve' });
      await expect(decide(at, { approval: 'b', by: ANN, answer: 'reject' })).rejects.toMatchObject({
        code: 'APPROVAL_DECIDED',
        message: expect.stringContaining('user:cho for user:ann voted approve'),
      });
      expect(await meta('b')).toMatchObject({ status: 'PENDING', votes: [{ by: CHO, for: ANN }] });
      await decide(at, { approval: 'b', by: 'user:eve', answer: 'approve' });
      expect(await meta('b')).toMatchObject({ status: 'APPROVED' });
    });

    test('votes for the one of several people whose vote is missing', async () => {
      const { requestApproval, at, meta, until } = await whileAway();
      await delegate(at, { person: 'user:bob', delegate: CHO, until });
      await requestApproval('a', { approvers: [ANN, 'user:bob'], quorum: 2 });
      await decide(at, { approval: 'a', by: ANN, answer: 'approve' });
      await decide(at, CHO_APPROVES);
      expect(await meta('a')).toMatchObject({ status: 'APPROVED', votes: [{ by: ANN }, { by: CHO, for: 'user:bob' }] });
    });

    test('has one vote of the same content again after other changes were proposed', async () => {
      const { requestApproval, at, meta } = await whileAway();
      await requestApproval('a', { approvers: [ANN, CHO, 'user:bob', 'user:eve'], quorum: 3, editable: true });
      const propose = async (vote: Partial<Pick<DecideInput, 'by' | 'for'>>, amount: number) => {
        const { contentHash } = await viewApproval(at, 'a');
        await decide(at, { ...CHO_APPROVES, contentHash, edits: { amount }, ...vote });
      };
      await propose({}, 1);
      await propose({ by: 'user:bob' }, 2);
      await propose({ for: ANN }, 1);
      expect((await viewApproval(at, 'a')).votes.map(({ by, for: of, counts }) => [by, of, counts])).toEqual([
        [CHO, undefined, false],
        ['user:bob', undefined, false],
        [CHO, ANN, true],
      ]);
      expect((await meta('a')).status).toBe('PENDING');
    });

    test('repeats a decision, and cannot make a different one', async () => {
      const { requestApproval, at, meta } = await whileAway();
      await requestApproval('a', { approvers: [ANN, 'user:bob'], quorum: 2 });
      await decide(at, CHO_APPROVES);
      await decide(at, CHO_APPROVES);
      await decide(at, FOR_ANN);
      await expect(decide(at, { ...CHO_APPROVES, answer: 'reject' })).rejects.toMatchObject({
        code: 'APPROVAL_DECIDED',
      });
      expect((await meta('a')).votes).toHaveLength(1);
    });

    test('cannot vote before it begins, when it has ended or was ended early', async () => {
      const { requestApproval, at, clock, until } = await whileAway();
      await delegate(at, { person: ANN, delegate: CHO, from: new Date(clock.now + DAY), until });
      await requestApproval('a', { approvers: [ANN, 'user:bob'], quorum: 2 });
      const refused = (text: string) => ({ code: 'NOT_AN_APPROVER', message: expect.stringContaining(text) });
      await expect(decide(at, CHO_APPROVES)).rejects.toMatchObject(refused('is not an approver'));
      await expect(decide(at, FOR_ANN)).rejects.toMatchObject(refused('can answer for "user:ann" only from'));
      clock.now = until.getTime();
      await expect(decide(at, CHO_APPROVES)).rejects.toMatchObject(refused('is not an approver'));
      await expect(decide(at, FOR_ANN)).rejects.toMatchObject(refused(`only until ${until.toISOString()}`));
      clock.now -= 1;
      await decide(at, FOR_ANN);
      await requestApproval('b', { approvers: [ANN] });
      await endDelegation(at, ANN);
      await expect(decide(at, { ...FOR_ANN, approval: 'b' })).rejects.toMatchObject(
        refused('the delegation does not exist, or it has ended'),
      );
    });

    test('does not pass it on, and a circle gives nobody a second vote', async () => {
      const { requestApproval, at, clock, meta, until } = await whileAway();
      await delegate(at, { person: CHO, delegate: 'user:dan', until });
      await delegate(at, { person: 'user:dan', delegate: ANN, until: new Date(clock.now + DAY) });
      await requestApproval('a', { approvers: [ANN, CHO, 'user:dan'], quorum: 3 });
      const dan: DecideInput = { approval: 'a', by: 'user:dan', answer: 'approve' };
      await expect(decide(at, { ...dan, for: ANN })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      await requestApproval('b', { approvers: [ANN] });
      await expect(decide(at, { ...dan, approval: 'b' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      expect(await namesIn({ ...(await open({ tenant: at.tenant, run: 'other', clock })), at }, 'user:dan')).toEqual([
        ['a', undefined],
      ]);
      await decide(at, { ...dan, for: CHO });
      await decide(at, { approval: 'a', by: ANN, answer: 'approve' });
      await expect(decide(at, { approval: 'a', by: ANN, for: 'user:dan', answer: 'approve' })).rejects.toMatchObject({
        code: 'APPROVAL_DECIDED',
      });
      expect((await meta('a')).status).toBe('PENDING');
    });

    test('cannot vote for the excluded requester, nor as the excluded requester', async () => {
      const { requestApproval, at, meta } = await whileAway();
      const excluding = { excludeRequester: true, approvers: [ANN, CHO, 'user:bob'] } as const;
      await requestApproval('a', excluding, { requestedBy: ANN });
      await expect(decide(at, FOR_ANN)).rejects.toMatchObject({
        message: expect.stringContaining('"user:ann" requested'),
      });
      await requestApproval('b', { ...excluding, approvers: [ANN, 'user:bob'] }, { requestedBy: CHO });
      for (const vote of [FOR_ANN, CHO_APPROVES])
        await expect(decide(at, { ...vote, approval: 'b' })).rejects.toMatchObject({
          code: 'NOT_AN_APPROVER',
          message: expect.stringContaining('"user:cho" requested'),
        });
      await requestApproval('c', { ...excluding, approvers: [ANN, 'user:bob'] }, { requestedBy: ANN });
      await expect(decide(at, { ...CHO_APPROVES, approval: 'c' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      expect(await namesIn({ ...(await open()), at }, CHO)).toEqual([['a', undefined]]);
      for (const id of ['a', 'b', 'c']) expect((await meta(id)).votes).toEqual([]);
    });

    test('cannot vote in another tenant', async () => {
      const { clock } = await whileAway({ tenant: 'one' });
      const { requestApproval, at } = await open({ tenant: 'two', clock });
      await requestApproval('a', { approvers: [ANN] });
      for (const vote of [FOR_ANN, CHO_APPROVES])
        await expect(decide(at, vote)).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
    });
  });

  describe('the inbox of a delegate', () => {
    test('lists what they can answer for others, by name and for known members of groups, once each', async () => {
      const scene = await whileAway({}, { groups: ['group:finance'] });
      const { requestApproval, at } = scene;
      await requestApproval('a', { approvers: [ANN, 'user:bob'] });
      await requestApproval('b', { approvers: ['user:bob', ANN, CHO] });
      await requestApproval('c', { approvers: ['group:finance'] });
      await requestApproval('d', { approvers: ['group:finance'] });
      await processDueApproval(at, 'c', { notify: async () => {}, members: async () => [ANN] });
      await processDueApproval(at, 'd', { notify: async () => {}, members: async () => ['user:bob'] });
      await requestApproval('e', { approvers: ['group:finance'], excludeRequester: true }, { requestedBy: ANN });
      await requestApproval('f', { approvers: ['group:finance'], quorum: 2 });
      for (const id of ['e', 'f'])
        await processDueApproval(at, id, { notify: async () => {}, members: async () => [ANN, 'user:bob'] });
      await decide(at, { approval: 'f', by: ANN, answer: 'approve' });
      await eventually(async () =>
        expect((await namesIn(scene, CHO)).toSorted()).toEqual([
          ['a', ANN],
          ['b', undefined],
          ['c', ANN],
        ]),
      );
      await decide(at, CHO_APPROVES);
      await eventually(async () =>
        expect((await namesIn(scene, CHO)).map(([id]) => id).toSorted()).toEqual(['b', 'c']),
      );
      await endDelegation(at, ANN);
      await eventually(async () => expect(await namesIn(scene, CHO)).toEqual([['b', undefined]]));
    });

    test('lists nothing of a delegation that has not begun or has ended', async () => {
      const scene = await open();
      const { at, clock, requestApproval } = scene;
      await requestApproval('a', { approvers: [ANN] });
      const [from, until] = [new Date(clock.now + HOUR), new Date(clock.now + DAY)];
      await delegate(at, { person: ANN, delegate: CHO, from, until });
      expect(await namesIn(scene, CHO)).toEqual([]);
      clock.now += HOUR;
      await eventually(async () => expect(await namesIn(scene, CHO)).toEqual([['a', ANN]]));
      clock.now = until.getTime();
      expect(await namesIn(scene, CHO)).toEqual([]);
    });
  });

  describe('a notification', () => {
    const url = 'https://example.com/';
    async function notified({ at }: ApprovalScene, id: string, members: readonly string[] = []) {
      const notices: ApprovalNotification[] = [];
      const notify = async (notice: ApprovalNotification) => void notices.push(notice);
      await processDueApproval(at, id, { url, notify, members: async () => members });
      return (notices[0]?.links ?? []).map(({ url: link, ...to }) => ({ ...to, token: link.slice(url.length) }));
    }
    const recipients = (links: Awaited<ReturnType<typeof notified>>) =>
      links.map(({ person, for: of }) => [person, of]);

    test('sends the delegate a link of their own, which decides for the person who is away', async () => {
      const scene = await whileAway();
      const { requestApproval, at, meta } = scene;
      await requestApproval('a', { approvers: [ANN, 'user:bob'], quorum: 2 });
      const links = await notified(scene, 'a');
      expect(recipients(links)).toEqual([
        [ANN, undefined],
        ['user:bob', undefined],
        [CHO, ANN],
      ]);
      const token = links.at(-1)?.token ?? '';
      expect(await findByToken(at, token)).toMatchObject({ person: CHO, for: ANN });
      expect(await findByToken(at, token)).not.toHaveProperty('delegationEnded');
      await decideByToken(at, token, { answer: 'approve' });
      expect((await meta('a')).votes).toMatchObject([{ by: CHO, for: ANN }]);
      expect((await decideByToken(at, token, { answer: 'approve' })).isChanged).toBe(false);
    });

    test('leaves the link of the person who is away as it is', async () => {
      const scene = await whileAway();
      await scene.requestApproval('a', { approvers: [ANN] });
      const [toAnn] = await notified(scene, 'a');
      await decideByToken(scene.at, toAnn?.token ?? '', { answer: 'reject' });
      expect((await scene.meta('a')).votes).toMatchObject([{ by: ANN, answer: 'reject' }]);
    });

    test('sends one link to someone who is an approver too, or answers for several', async () => {
      const scene = await whileAway();
      const { requestApproval, at, clock } = scene;
      await delegate(at, { person: 'user:bob', delegate: CHO, until: new Date(clock.now + DAY) });
      await requestApproval('a', { approvers: [ANN, 'user:bob', CHO] });
      expect(recipients(await notified(scene, 'a')).filter(([person]) => person === CHO)).toEqual([[CHO, undefined]]);
      await requestApproval('b', { approvers: ['user:bob', 'group:finance'] });
      expect(recipients(await notified(scene, 'b', [ANN])).filter(([person]) => person === CHO)).toEqual([
        [CHO, 'user:bob'],
      ]);
    });

    test('sends no link to a delegate who requested the run, or has voted', async () => {
      const scene = await whileAway();
      const { requestApproval, at } = scene;
      const excluding = { excludeRequester: true, approvers: [ANN, 'user:bob'] } as const;
      await requestApproval('a', excluding, { requestedBy: CHO });
      await requestApproval('b', excluding, { requestedBy: ANN });
      await requestApproval('c', { approvers: [ANN, 'user:bob', CHO], quorum: 2 });
      await decide(at, { ...CHO_APPROVES, approval: 'c' });
      for (const id of ['a', 'b', 'c'])
        expect(recipients(await notified(scene, id)).filter(([person]) => person === CHO)).toEqual([]);
    });

    test('sends a link that says so when the delegation has ended, and then decides nothing', async () => {
      const scene = await whileAway();
      const { requestApproval, at, clock, until, meta } = scene;
      await requestApproval('a', { approvers: [ANN] });
      const token = (await notified(scene, 'a')).at(-1)?.token ?? '';
      clock.now = until.getTime();
      expect(await findByToken(at, token)).toMatchObject({ person: CHO, for: ANN, delegationEnded: true });
      await expect(decideByToken(at, token, { answer: 'approve' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      clock.now -= 1;
      await delegate(at, { person: ANN, delegate: 'user:dan', until: new Date(clock.now + DAY) });
      expect(await findByToken(at, token)).toMatchObject({ delegationEnded: true });
      await expect(decideByToken(at, token, { answer: 'approve' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      expect((await meta('a')).votes).toEqual([]);
    });

    test('sends a link that decides for a group with too many members to store', async () => {
      const scene = await whileAway();
      const crowd = Array.from({ length: 501 }, (_, i) => `user:member-${i}`);
      await scene.requestApproval('a', { approvers: ['group:everyone'] });
      const links = await notified(scene, 'a', [...crowd, ANN]);
      expect(links).toHaveLength(503);
      await decideByToken(scene.at, links.at(-1)?.token ?? '', { answer: 'approve' });
      expect((await scene.meta('a')).votes).toMatchObject([{ by: CHO, for: ANN, as: 'group:everyone' }]);
    });
  });

  describe('making a delegation', () => {
    test('refuses what is malformed, in the past, too long, to oneself or to a group', async () => {
      const { at, clock } = await open();
      const until = new Date(clock.now + DAY);
      const refusals: readonly (readonly [object, string])[] = [
        [{ delegate: ANN }, '`delegate` must be another person than `person`'],
        [{ delegate: 'group:finance' }, '`delegate` must be "user:" followed by a name'],
        [{ person: 'group:finance' }, '`person` must be "user:" followed by a name'],
        [{ until: new Date(clock.now) }, '`until` must be in the future'],
        [{ until: new Date(clock.now + 367 * DAY) }, '`until` must be at most 366 days from now'],
        [{ until: new Date(Number.NaN) }, '`until` must be a valid Date'],
        [{ until: 'Friday' }, '`until` must be a valid Date'],
        [{ until: undefined }, '`until` must be a valid Date'],
        [{ from: until }, '`from` must be before `until`'],
        [{ createdBy: 'admin' }, '`createdBy` must be "user:" followed by a name'],
        [{ groups: ['finance'] }, '`groups` must be a list'],
      ];
      for (const [wrong, message] of refusals) {
        const input = { person: ANN, delegate: CHO, until, ...wrong } as DelegateInput;
        await expect(delegate(at, input)).rejects.toMatchObject({
          code: 'INVALID_INPUT',
          message: expect.stringContaining(message),
        });
      }
      await expect(delegate(at, undefined as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      expect(await listDelegations(at)).toEqual([]);
    });

    test('refuses two people who would answer for each other at the same time', async () => {
      const { at, clock, until } = await whileAway();
      const back = { person: CHO, delegate: ANN, until } as const;
      await expect(delegate(at, back)).rejects.toThrow('is away until');
      await delegate(at, { ...back, from: until, until: new Date(until.getTime() + DAY) });
      expect((await listDelegations(at)).map(({ person }) => person)).toEqual([ANN, CHO]);
      expect(clock.now).toBeLessThan(until.getTime());
    });

    test('replaces the earlier delegation, so that a person has one delegate', async () => {
      const { requestApproval, at, clock } = await whileAway();
      const until = new Date(clock.now + DAY);
      await delegate(at, { person: ANN, delegate: 'user:dan', until });
      expect(await listDelegations(at)).toMatchObject([{ person: ANN, delegate: 'user:dan' }]);
      await requestApproval('a', { approvers: [ANN] });
      await expect(decide(at, CHO_APPROVES)).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      await decide(at, { ...CHO_APPROVES, by: 'user:dan' });
      await eventually(async () => expect(await listDelegations(at, { person: CHO })).toEqual([]));
    });

    test('leaves one delegation when several are made at the same time', async () => {
      const { at, clock, context } = await open();
      const until = new Date(clock.now + DAY);
      const people = ['user:a', 'user:b', 'user:c', 'user:d'] as const;
      await Promise.all(people.map((each) => delegate(context(), { person: ANN, delegate: each, until })));
      expect(await listDelegations(at)).toHaveLength(1);
    });
  });

  describe('delegations', () => {
    test('are listed from and to a person, or all, those that end first first', async () => {
      const { at, clock, until } = await whileAway();
      const soon = new Date(clock.now + HOUR);
      await delegate(at, { person: 'user:bob', delegate: CHO, until: soon });
      await delegate(at, { person: CHO, delegate: 'user:dan', until: new Date(clock.now + 9 * DAY) });
      await delegate(at, { person: 'user:eve', delegate: 'user:dan', until });
      const pairs = async (person?: 'user:cho' | 'user:ann') =>
        (await listDelegations(at, { person })).map((each) => [each.person, each.delegate]);
      await eventually(async () =>
        expect(await pairs(CHO)).toEqual([
          ['user:bob', CHO],
          [ANN, CHO],
          [CHO, 'user:dan'],
        ]),
      );
      expect(await pairs(ANN)).toEqual([[ANN, CHO]]);
      expect(await pairs()).toHaveLength(4);
      clock.now = soon.getTime();
      expect(await pairs()).toHaveLength(3);
    });

    test('end early once', async () => {
      const { at } = await whileAway();
      expect(await endDelegation(at, ANN)).toMatchObject({ person: ANN, delegate: CHO });
      expect(await endDelegation(at, ANN)).toBeUndefined();
      await expect(endDelegation(at, 'ann' as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    });

    test('allow nothing when their record is forged or damaged', async () => {
      const { requestApproval, at, until } = await whileAway();
      await requestApproval('a', { approvers: ['user:bob'] });
      const partition = delegationsPartition(at.tenant);
      const [own] = await at.records.read(partition, [delegationKey(ANN)]);
      if (!own) throw new Error('There is no delegation.');
      // The record of ann under the key of bob, and records without the fields of one.
      for (const meta of [
        own.meta,
        '1{}',
        'nothing',
        '9{}',
        `1{"person":"user:bob","delegate":7,"until":${until.getTime()}}`,
      ]) {
        const [before] = await at.records.read(partition, [delegationKey('user:bob')]);
        const put = { ...own, key: delegationKey('user:bob'), meta, revision: `forged ${meta}` };
        await at.records.commit([{ put, when: before ? { revision: before.revision } : 'absent' }]);
        await expect(decide(at, CHO_APPROVES)).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
        await expect(decide(at, { ...FOR_ANN, for: 'user:bob' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
        expect((await listDelegations(at)).map(({ person }) => person)).toEqual([ANN]);
      }
    });
  });
}
