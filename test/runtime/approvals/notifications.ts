import { describe, expect, test } from 'vitest';
import { createCheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import type { Person } from '../../../lambda/core/approval.ts';
import { decideByToken, findByToken } from '../../../lambda/runtime/approvals/by-token.ts';
import { decide } from '../../../lambda/runtime/approvals/decide.ts';
import { processDueApproval } from '../../../lambda/runtime/approvals/due.ts';
import { resolveToken, revokeToken } from '../../../lambda/runtime/approvals/tokens.ts';
import { toApprovalView, viewApproval } from '../../../lambda/runtime/approvals/view.ts';
import type { ApprovalNotification } from '../../../lambda/runtime/definition/approval-notification.ts';
import { approvalKey } from '../../../lambda/storage/keys.ts';
import { keys } from '../../contract/checkpoint-store/keys.ts';
import { errorOf } from '../../contract/checkpoint-store/stores.ts';
import { DAY, HOUR, MINUTE } from '../../faults/clock.ts';
import type { OpenScene } from './contract.ts';
import { linkFor } from './scene.ts';

const url = 'https://example.com/approve';

/** A notifier that records its notifications. */
function recordingNotifier() {
  const notices: ApprovalNotification[] = [];
  const notify = async (notice: ApprovalNotification) => void notices.push(notice);
  return { notices, people: { notify, url } };
}

const tokenIn = (link: string | undefined): string => link?.slice(url.length + 1) ?? '';

export function notificationsContract(open: OpenScene): void {
  describe('processing a due approval', () => {
    test('fails when a member of a group is not a person, and tries again later', async () => {
      const { requestApproval, at, meta } = await open();
      const { notices, people } = recordingNotifier();
      await requestApproval('a', { approvers: ['group:finance'] });
      const members = async () => ['bob'];
      await expect(processDueApproval(at, 'a', { ...people, members })).rejects.toThrow(
        'Each member of "group:finance" must be "user:" followed by a name, such as "user:ann"; found "bob".',
      );
      expect([notices, await meta('a')]).toMatchObject([[], { status: 'PENDING', pendingNotification: 'requested' }]);
    });

    test('notifies each person once, with a link that decides as this person', async () => {
      const { requestApproval, at, due, clock, meta } = await open();
      const { notices, people } = recordingNotifier();
      const members = async (group: string) => (group === 'group:finance' ? ['user:bob', 'user:ann'] : []);
      const approvers = ['user:ann', 'group:finance', 'group:empty'] as const;
      await requestApproval('a', { approvers, timeout: { hours: 1 }, quorum: 2 }, { agent: 'payer' });
      expect(await due()).toEqual([approvalKey('a')]);
      expect(await processDueApproval(at, 'a', { ...people, members })).toEqual(['notify']);
      expect(await processDueApproval(at, 'a', { ...people, members })).toEqual([]);
      expect(await due()).toEqual([]);
      expect(notices).toEqual([
        {
          ...{
            kind: 'requested',
            tenant: at.tenant,
            run: at.run,
            agent: 'payer',
            approval: 'a',
            name: 'pay',
            approvers,
          },
          ...{ title: 'Pay the invoice?', requestedAt: new Date(clock.now), deadline: new Date(clock.now + HOUR) },
          isEncrypted: false,
          links: [
            { person: 'user:ann', url: expect.stringMatching(/^https:\/\/example.com\/approve\/[\w-]{43}$/) },
            { person: 'user:bob', url: expect.any(String) },
          ],
        },
      ]);
      const [toAnn, toBob] = notices[0]?.links ?? [];
      await decideByToken(at, tokenIn(toAnn?.url), { answer: 'approve' });
      await decideByToken(at, tokenIn(toBob?.url), { answer: 'approve', comment: 'ok' });
      expect((await meta('a')).votes.map(({ by, as }) => [by, as])).toEqual([
        ['user:ann', undefined],
        ['user:bob', 'group:finance'],
      ]);
      expect(await meta('a')).toMatchObject({ status: 'APPROVED', notifiedAt: clock.now });
    });

    test('stores the members of its groups, who alone can vote for them, and renews them with a reminder', async () => {
      const { requestApproval, at, clock, meta } = await open();
      await requestApproval('a', { approvers: ['group:finance', 'user:cho'], quorum: 2, remindAfter: { hours: 1 } });
      const vote = (by: Person, groups: readonly string[] = []) =>
        decide(at, { approval: 'a', by, groups, answer: 'approve' });
      const unknown = 'The members of group:finance are unknown';
      await expect(vote('user:ann')).rejects.toMatchObject({
        code: 'NOT_AN_APPROVER',
        message: expect.stringContaining(unknown),
      });
      let finance = ['user:ann', 'user:zed'];
      const { notices, people } = recordingNotifier();
      const notifier = { ...people, members: async () => finance };
      await processDueApproval(at, 'a', notifier);
      expect(await viewApproval(at, 'a')).toMatchObject({ members: { 'group:finance': ['user:ann', 'user:zed'] } });
      await expect(vote('user:eve')).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      finance = ['user:ann', 'user:bob'];
      clock.now += HOUR;
      await processDueApproval(at, 'a', notifier);
      await expect(vote('user:zed')).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      const toZed = tokenIn(notices[0]?.links.find(({ person }) => person === 'user:zed')?.url);
      await expect(decideByToken(at, toZed, { answer: 'approve' })).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      await vote('user:bob');
      await vote('user:dan', ['group:finance']);
      expect((await meta('a')).votes.map(({ by, as }) => [by, as])).toEqual([
        ['user:bob', 'group:finance'],
        ['user:dan', 'group:finance'],
      ]);
    });

    test('lets anyone vote for a group without known members only if its groups are open', async () => {
      const { requestApproval, at, meta } = await open();
      await requestApproval('a', { approvers: ['group:finance'], openGroups: true });
      await decide(at, { approval: 'a', by: 'user:zed', answer: 'approve' });
      expect(await meta('a')).toMatchObject({ status: 'APPROVED', votes: [{ by: 'user:zed', as: 'group:finance' }] });
      await requestApproval('b', { approvers: ['group:finance'], openGroups: true });
      await processDueApproval(at, 'b', { notify: async () => {}, members: async () => ['user:ann'] });
      const zed = { approval: 'b', by: 'user:zed', answer: 'approve' } as const;
      await expect(decide(at, zed)).rejects.toMatchObject({ code: 'NOT_AN_APPROVER' });
      await decide(at, { ...zed, groups: ['group:finance'], membership: 'stated' });
      expect((await meta('b')).votes).toMatchObject([{ by: 'user:zed', membership: 'stated' }]);
    });

    test('leaves the notification and its time to a process that has the agent', async () => {
      const { requestApproval, at, due, clock, meta } = await open();
      const { notices, people } = recordingNotifier();
      await requestApproval('a', {
        approvers: ['user:ann'],
        escalateTo: ['user:bob'],
        escalateAfter: { hours: 2 },
        remindAfter: { hours: 1 },
        timeout: { days: 1 },
      });
      const kinds = ['requested', 'reminder', 'escalated'] as const;
      for (const kind of kinds) {
        const actions = await processDueApproval(at, 'a', 'unknown');
        expect(actions).not.toContain('notify');
        expect(await processDueApproval(at, 'a', 'unknown')).toEqual([]);
        expect(await due()).toEqual([approvalKey('a')]);
        expect(await meta('a')).toMatchObject({ pendingNotification: kind, notifyAt: clock.now });
        clock.now += 1;
        expect(await processDueApproval(at, 'a', people)).toEqual(['notify']);
        expect(await due()).toEqual([]);
        clock.now += HOUR - 1;
      }
      expect(notices.map(({ kind }) => kind)).toEqual(kinds);
      clock.now += DAY;
      expect(await processDueApproval(at, 'a', 'unknown')).toEqual(['expire']);
    });

    test('shows a notification that nobody could send, and one that failed', async () => {
      const { requestApproval, at, clock } = await open();
      await requestApproval('a');
      const requestedAt = clock.now;
      const view = async () => (await viewApproval(at, 'a')).unsentNotification;
      await processDueApproval(at, 'a', 'unknown');
      clock.now += 2 * MINUTE - 1;
      expect(await view()).toBeUndefined();
      clock.now += 1;
      expect(await view()).toEqual({ kind: 'requested', since: new Date(requestedAt), attempts: 0 });
      const firstAttempt = clock.now;
      const failing = { notify: () => Promise.reject(new Error('no mail today')) };
      await expect(processDueApproval(at, 'a', failing)).rejects.toThrow('no mail today');
      expect(await view()).toBeUndefined();
      clock.now += MINUTE;
      await expect(processDueApproval(at, 'a', failing)).rejects.toThrow('no mail today');
      clock.now += MINUTE;
      expect(await view()).toEqual({ kind: 'requested', since: new Date(firstAttempt), attempts: 2 });
      clock.now += HOUR;
      await processDueApproval(at, 'a', { notify: async () => {} });
      clock.now += DAY;
      expect(await view()).toBeUndefined();
    });

    test('retries a failed notification with growing delays', async () => {
      const { requestApproval, at, clock, meta } = await open();
      await requestApproval('a');
      const failing = async () => {
        throw new Error('no mail today');
      };
      for (const pause of [1, 2, 4]) {
        await expect(processDueApproval(at, 'a', { notify: failing })).rejects.toThrow('no mail today');
        expect(await processDueApproval(at, 'a', { notify: failing })).toEqual([]);
        clock.now += pause * MINUTE - 1;
        expect(await processDueApproval(at, 'a', { notify: failing })).toEqual([]);
        expect((await meta('a')).notifiedAt).toBeUndefined();
        clock.now += 1;
      }
      const { notices, people } = recordingNotifier();
      expect(await processDueApproval(at, 'a', people)).toEqual(['notify']);
      expect(notices).toMatchObject([{ kind: 'requested' }]);
    });

    test('notifies once if two processes do it at the same time', async () => {
      const { requestApproval, context } = await open();
      await requestApproval('a');
      const { notices, people } = recordingNotifier();
      await Promise.all([1, 2, 3].map(() => processDueApproval(context(), 'a', people)));
      expect(notices).toHaveLength(1);
    });

    test('notifies again of changes that were proposed while it notified of earlier ones', async () => {
      const { requestApproval, at, meta } = await open();
      const { notices, people } = recordingNotifier();
      const approvers = ['user:ann', 'user:bob', 'user:cho'] as const;
      await requestApproval('a', { approvers, quorum: 2, editable: true });
      await processDueApproval(at, 'a', people);
      const propose = async (by: Person, amount: number) => {
        const { contentHash } = await viewApproval(at, 'a');
        await decide(at, { approval: 'a', by, answer: 'approve', edits: { amount }, contentHash });
      };
      await propose('user:bob', 79);
      const notify = async (notice: ApprovalNotification) => {
        await people.notify(notice);
        if (notices.length === 2) await propose('user:cho', 78);
      };
      expect(await processDueApproval(at, 'a', { ...people, notify })).toEqual(['notify', 'notify']);
      expect(notices.map(({ kind, links }) => [kind, ...links.map(({ person }) => person)])).toEqual([
        ['requested', ...approvers],
        ['proposed', 'user:ann', 'user:cho'],
        ['proposed', 'user:ann', 'user:bob'],
      ]);
      expect((await meta('a')).pendingNotification).toBeUndefined();
    });

    test('drops notifications if there is no notifier', async () => {
      const { requestApproval, at, due, inbox, meta } = await open();
      await requestApproval('a');
      expect(await processDueApproval(at, 'a', undefined)).toEqual(['notify']);
      expect(await due()).toEqual([]);
      expect(await inbox('user:ann')).toEqual(['a']);
      expect((await meta('a')).notifiedAt).toBeUndefined();
    });

    test('records no notification if somebody decided in the meantime', async () => {
      const { requestApproval, at, meta } = await open();
      await requestApproval('a');
      const notify = async () => void (await decide(at, { approval: 'a', by: 'user:ann', answer: 'approve' }));
      expect(await processDueApproval(at, 'a', { notify })).toEqual(['notify']);
      expect(await meta('a')).toMatchObject({ status: 'APPROVED' });
      expect((await meta('a')).notifiedAt).toBeUndefined();
    });

    test('reminds people who have not voted', async () => {
      const { requestApproval, at, clock } = await open();
      const { notices, people } = recordingNotifier();
      await requestApproval('a', { approvers: ['user:ann', 'user:bob'], quorum: 2, remindAfter: { hours: 1 } });
      await processDueApproval(at, 'a', people);
      await decide(at, { approval: 'a', by: 'user:ann', answer: 'approve' });
      clock.now += HOUR;
      expect(await processDueApproval(at, 'a', people)).toEqual(['remind', 'notify']);
      clock.now += 5 * HOUR;
      expect(await processDueApproval(at, 'a', people)).toEqual(['remind', 'notify']);
      expect(notices.map(({ kind, links }) => [kind, links.map(({ person }) => person)])).toEqual([
        ['requested', ['user:ann', 'user:bob']],
        ['reminder', ['user:bob']],
        ['reminder', ['user:bob']],
      ]);
    });

    test('escalates, which puts the approval into more inboxes', async () => {
      const { requestApproval, at, clock, inbox, due, head } = await open();
      const { notices, people } = recordingNotifier();
      await requestApproval('a', {
        timeout: { hours: 1 },
        onTimeout: 'escalate',
        escalateTo: ['user:eve', 'group:board'],
      });
      await processDueApproval(at, 'a', people);
      expect(await inbox('user:eve')).toEqual([]);
      clock.now += HOUR;
      expect(await due()).toContain(approvalKey('a'));
      expect(await processDueApproval(at, 'a', people)).toEqual(['escalate', 'notify']);
      for (const person of ['user:ann', 'user:eve', 'group:board'] as const) expect(await inbox(person)).toEqual(['a']);
      expect(notices[1]).toMatchObject({ kind: 'escalated', deadline: new Date(clock.now + HOUR) });
      expect((await head()).status).toBe('WAITING_FOR_APPROVAL');
      clock.now += HOUR;
      expect(await processDueApproval(at, 'a', people)).toEqual(['expire']);
      expect((await head()).status).toBe('READY');
      for (const person of ['user:ann', 'user:eve', 'group:board'] as const) expect(await inbox(person)).toEqual([]);
    });

    test('expires the approval at the deadline, and wakes the run once', async () => {
      const { requestApproval, context, at, clock, head, meta, due } = await open();
      await requestApproval('a', { timeout: { hours: 1 }, onTimeout: 'fail' });
      await processDueApproval(at, 'a', undefined);
      const eventCount = (await head()).work?.eventCount ?? 0;
      clock.now += HOUR;
      const done = await Promise.all([1, 2, 3].map(() => processDueApproval(context(), 'a', undefined)));
      expect(done.flat()).toEqual(['expire']);
      expect(await meta('a')).toMatchObject({ status: 'EXPIRED', outcome: 'fail' });
      expect(await head()).toMatchObject({ status: 'READY', work: { eventCount: eventCount + 1 } });
      expect(await due()).toEqual([]);
    });

    test('expires an encrypted approval without its key', async () => {
      const { requestApproval, context, clock, meta } = await open({ keys });
      await requestApproval('a', { timeout: { hours: 1 } });
      clock.now += HOUR;
      expect(await processDueApproval({ ...context(), keys: undefined }, 'a', undefined)).toEqual(['expire']);
      expect(await meta('a')).toMatchObject({ status: 'EXPIRED' });
    });

    test('does nothing for an approval that is gone', async () => {
      const { requestApproval, at, storage, clock } = await open();
      await requestApproval('a');
      await createCheckpointStore(storage, { tenant: at.tenant, clock: clock.read }).delete(at.run);
      expect(await processDueApproval(at, 'a', recordingNotifier().people)).toEqual([]);
      expect(await processDueApproval(at, 'never', recordingNotifier().people)).toEqual([]);
    });
  });

  describe('an approval link', () => {
    const linkTo = async (scene: Awaited<ReturnType<OpenScene>>, person: Person = 'user:ann', hours = 24) => {
      const { tenant, run } = scene.at;
      return linkFor(scene.at, { tenant, run, approval: 'a', person, expiresAt: scene.clock.now + hours * HOUR });
    };

    test('finds and decides its approval from any tenant, and finds the outcome afterwards', async () => {
      const scene = await open();
      await scene.requestApproval('a', { approvers: ['user:ann', 'user:bob'] });
      const [token, again, toBob] = [await linkTo(scene), await linkTo(scene), await linkTo(scene, 'user:bob')];
      const elsewhere = { ...scene.context(), tenant: 'another' };
      const { contentHash } = (await findByToken(elsewhere, token)).approval.meta;
      await decideByToken(elsewhere, token, { answer: 'approve', comment: 'ok', contentHash });
      for (const link of [token, again, toBob]) {
        const view = await toApprovalView(await findByToken(elsewhere, link));
        expect(view).toMatchObject({ status: 'APPROVED', votes: [{ comment: 'ok' }] });
        await expect(decideByToken(elsewhere, link, { answer: 'reject' })).rejects.toMatchObject({
          code: 'APPROVAL_DECIDED',
        });
      }
      const repeated = await decideByToken(elsewhere, again, { answer: 'approve' });
      expect(repeated).toMatchObject({
        isChanged: false,
        person: 'user:ann',
        approval: { meta: { status: 'APPROVED' } },
      });
    });

    test('decides only as the person it was made for', async () => {
      const scene = await open();
      await scene.requestApproval('a', { approvers: ['user:ann', 'user:bob'], quorum: 2 });
      const token = await linkTo(scene);
      const forged = { answer: 'approve', by: 'user:bob', approval: 'b', groups: ['group:x'] } as const;
      await decideByToken(scene.at, token, forged);
      expect((await scene.meta('a')).votes).toMatchObject([{ by: 'user:ann' }]);
      const toEve = await linkTo(scene, 'user:eve');
      await expect(decideByToken(scene.at, toEve, { answer: 'approve' })).rejects.toMatchObject({
        code: 'NOT_AN_APPROVER',
      });
    });

    test('fails with the same error if it is forged, malformed, revoked, expired or of a deleted run', async () => {
      const scene = await open();
      const second = await scene.other('run 2');
      await scene.requestApproval('a');
      await second.requestApproval('a');
      const [revoked, ofDeleted, expired] = [
        await linkTo(scene),
        await linkTo(second),
        await linkTo(scene, 'user:ann', 1),
      ];
      const { tenant, run } = scene.at;
      const toNothing = await linkFor(scene.at, {
        ...{ tenant, run, approval: 'none', person: 'user:ann', expiresAt: scene.clock.now + 2 * HOUR },
      });
      await revokeToken(scene.at, revoked);
      await revokeToken(scene.at, revoked);
      const store = createCheckpointStore(scene.storage, { tenant, clock: scene.clock.read });
      await store.delete('run 2');
      scene.clock.now += HOUR;
      const wrong = ['', 'x', '../cz', '😀', `${revoked}=`, 'A'.repeat(43), revoked, ofDeleted, expired, toNothing];
      const strange = [undefined, null, 7, {}, [revoked]] as unknown as string[];
      const errors = await Promise.all(
        [...wrong, ...strange].flatMap((token) => [
          errorOf(findByToken(scene.at, token)),
          errorOf(decideByToken(scene.at, token, { answer: 'approve' })),
        ]),
      );
      const texts = new Set(
        errors.map((error) => JSON.stringify([(error as Error).message, (error as { code?: string }).code])),
      );
      expect([...texts]).toHaveLength(1);
      expect(errors[0]).toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
      expect((await scene.meta('a')).status).toBe('PENDING');
    });

    test('does not work for another run under the id of a deleted one', async () => {
      const scene = await open();
      await scene.requestApproval('a');
      const token = await linkTo(scene, 'user:ann', 24 * 30);
      const { tenant, run } = scene.at;
      const store = createCheckpointStore(scene.storage, { tenant, clock: scene.clock.read });
      await store.delete(run);
      scene.clock.now += 2 * DAY;
      await store.sweep();
      const next = await scene.other(run);
      await next.requestApproval('a');
      const uses = [findByToken(scene.at, token), decideByToken(scene.at, token, { answer: 'approve' })];
      for (const error of await Promise.all(uses.map(errorOf)))
        expect(error).toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
      expect(await findByToken(scene.at, await linkTo(next))).toMatchObject({ person: 'user:ann', at: { run } });
    });

    test('does not decide for another run that was started under the same id in the meantime', async () => {
      const scene = await open();
      await scene.requestApproval('a');
      const found = await findByToken(scene.at, await linkTo(scene));
      const { tenant, run } = scene.at;
      const store = createCheckpointStore(scene.storage, { tenant, clock: scene.clock.read });
      await store.delete(run);
      scene.clock.now += 2 * DAY;
      await store.sweep();
      const next = await scene.other(run);
      await next.requestApproval('a');
      const decision = decide(found.at, { approval: 'a', by: 'user:ann', answer: 'approve' }, found);
      await expect(decision).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
      expect(await next.meta('a')).toMatchObject({ status: 'PENDING', votes: [] });
    });

    test('does not reveal that the key of its run was destroyed', async () => {
      const scene = await open({ keys });
      await scene.requestApproval('a');
      const token = await linkTo(scene);
      const { tenant, run } = scene.at;
      await createCheckpointStore(scene.storage, { tenant, clock: scene.clock.read, keys }).shred(run);
      const unknown = await errorOf(findByToken(scene.context(), 'unknown'));
      const uses = [
        findByToken(scene.context(), token).then(toApprovalView),
        decideByToken(scene.context(), token, { answer: 'approve', comment: 'fine' }),
      ];
      for (const error of await Promise.all(uses.map(errorOf))) expect(error).toEqual(unknown);
    });

    test('is always looked up, and stored only as a hash', async () => {
      const scene = await open();
      await scene.requestApproval('a');
      const token = await linkTo(scene);
      const partitions: string[] = [];
      const { records } = scene.storage;
      const read: typeof records.read = (partition, names) => {
        partitions.push(partition);
        return records.read(partition, names);
      };
      const at = { ...scene.context(), records: { ...records, read } };
      for (const wrong of ['', 'x', 'A'.repeat(43)]) await errorOf(resolveToken(at, wrong));
      expect(partitions).toHaveLength(3);
      await resolveToken(at, token);
      const kept = partitions[3] ?? '';
      expect(JSON.stringify((await records.range(kept)).records)).not.toContain(token);
    });
  });
}
