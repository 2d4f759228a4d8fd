import { describe, expect, test } from 'vitest';
import {
  type ApprovalMeta,
  type ApprovalRequest,
  checkApprovalRequest,
  dueAction,
  dueAt,
  escalate,
  expire,
  markNotified,
  newApproval,
  type Person,
  remind,
  startNotifyAttempt,
  withdraw,
} from '../../../lambda/core/approval.ts';
import { castVote, currentVotes, hasVoted, matchApprover, shownHash } from '../../../lambda/core/approval-votes.ts';
import { HOUR, MINUTE } from '../../faults/clock.ts';

const START = Date.UTC(2030, 0, 1);

const approval = (request: Partial<ApprovalRequest> = {}): ApprovalMeta =>
  newApproval(
    { name: 'pay', requestNumber: 1, contentHash: 'ab' },
    checkApprovalRequest({ title: 'Pay?', approvers: ['user:ann', 'user:bob'], ...request }),
    START,
  );

const vote = (by: Person, answer: 'approve' | 'reject', at = START + 1) => ({ by, answer, at });
const notified = (meta: ApprovalMeta, now: number) => (meta.pendingNotification ? markNotified(meta, meta, now) : meta);

describe('a vote', () => {
  test('approves only when the quorum is reached', () => {
    const first = castVote(approval({ quorum: 2 }), vote('user:ann', 'approve'));
    expect(first).toMatchObject({ status: 'PENDING', votes: [{ by: 'user:ann' }] });
    expect(first.outcome).toBeUndefined();
    const second = castVote(first, vote('user:bob', 'approve', START + 2));
    expect(second).toMatchObject({ status: 'APPROVED', outcome: 'approve', endedAt: START + 2 });
    expect(second.pendingNotification).toBeUndefined();
    expect(dueAt(second)).toBeUndefined();
  });

  describe('with changes', () => {
    const propose = (by: Person, proposal: string, at = START + 2) => ({ ...vote(by, 'approve', at), proposal });
    const open = approval({ quorum: 2, editable: true, approvers: ['user:ann', 'user:bob', 'user:cho'] });
    const approved = notified(castVote(open, vote('user:ann', 'approve')), START + 1);
    const proposed = castVote(approved, propose('user:bob', '79'));

    test('is a new proposal, which earlier approvals do not cover, and approvers are notified', () => {
      expect(proposed).toMatchObject({ status: 'PENDING', pendingNotification: 'proposed', notifyAt: START + 2 });
      expect(currentVotes(proposed).map(({ by }) => by)).toEqual(['user:bob']);
      expect([shownHash(approved), shownHash(proposed)]).toEqual(['ab', '79']);
      expect(['user:ann', 'user:bob', 'user:cho'].map((person) => hasVoted(proposed, person))).toEqual([
        ...[false, true, false],
      ]);
    });

    test('is approved when a quorum approves the same changes, and an earlier voter can vote again', () => {
      const again = castVote(proposed, propose('user:ann', '79', START + 3));
      expect(again).toMatchObject({ status: 'APPROVED', outcome: 'approve', endedAt: START + 3 });
      expect(currentVotes(again).map(({ by }) => by)).toEqual(['user:bob', 'user:ann']);
      expect(castVote(again, propose('user:cho', '79'))).toBe(again);
      expect(() => castVote(again, propose('user:cho', '78'))).toThrow(
        expect.objectContaining({ code: 'APPROVAL_DECIDED' }),
      );
    });

    test('is replaced by the next proposal, and rejected by anyone, an earlier voter included', () => {
      const next = castVote(proposed, propose('user:cho', '78'));
      expect(currentVotes(next).map(({ by }) => by)).toEqual(['user:cho']);
      expect(castVote(next, propose('user:bob', '78'))).toMatchObject({ status: 'APPROVED' });
      expect(castVote(next, { ...vote('user:ann', 'reject'), proposal: '78' })).toMatchObject({ status: 'REJECTED' });
    });

    test('counts once for a person who proposes the same changes again', () => {
      const back = castVote(castVote(proposed, propose('user:cho', '78')), propose('user:bob', '79'));
      expect(back).toMatchObject({ status: 'PENDING' });
      expect(currentVotes(back)).toMatchObject([{ by: 'user:bob', proposes: true }]);
      expect(castVote(back, propose('user:cho', '79'))).toMatchObject({ status: 'APPROVED' });
    });

    test('counts for the newest proposal that its voter approved, not for one that they left', () => {
      const moved = castVote(castVote(open, propose('user:ann', '79')), propose('user:bob', '78'));
      const three = castVote({ ...moved, quorum: 3 }, propose('user:ann', '78'));
      expect(currentVotes(castVote(three, propose('user:cho', '79'))).map(({ by }) => by)).toEqual(['user:cho']);
      expect(currentVotes(castVote(moved, propose('user:cho', '79'))).map(({ by }) => by)).toEqual([
        ...['user:ann', 'user:cho'],
      ]);
    });

    test('ends the approval at once if one approval is enough', () => {
      expect(castVote(approval({ editable: true }), propose('user:bob', '79'))).toMatchObject({ status: 'APPROVED' });
    });

    test('is refused after twenty proposals', () => {
      let meta = open;
      for (let i = 0; i < 20; i++) meta = castVote(meta, propose(i % 2 ? 'user:ann' : 'user:bob', String(i)));
      expect(() => castVote(meta, propose('user:bob', 'more'))).toThrow('20 changes were proposed already');
      expect(castVote(meta, propose('user:bob', '19'))).toMatchObject({ status: 'APPROVED' });
    });
  });

  test('rejects alone, for any quorum', () => {
    const first = castVote(approval({ quorum: 2 }), vote('user:ann', 'approve'));
    expect(castVote(first, vote('user:bob', 'reject'))).toMatchObject({ status: 'REJECTED', outcome: 'reject' });
  });

  test('counts once per person, by name or through a group', () => {
    const open = approval({ approvers: ['group:a', 'group:b'], quorum: 2 });
    const first = castVote(open, { ...vote('user:ann', 'approve'), as: 'group:a' });
    expect(first.votes).toHaveLength(1);
    expect(castVote(first, { ...vote('user:ann', 'approve'), as: 'group:b' })).toBe(first);
  });

  test('is refused if the person voted differently before, while others can still vote', () => {
    const first = castVote(approval({ quorum: 2 }), vote('user:ann', 'approve'));
    expect(() => castVote(first, vote('user:ann', 'reject'))).toThrow(
      expect.objectContaining({
        code: 'APPROVAL_DECIDED',
        message: expect.stringContaining('user:ann voted approve at 2030-01-01T00:00:00.001Z'),
      }),
    );
  });

  test('returns the recorded one if it is repeated after the end, and is refused if it differs', () => {
    const done = castVote(approval(), vote('user:ann', 'approve'));
    expect(castVote(done, vote('user:ann', 'approve', START + 9))).toBe(done);
    expect(castVote(done, vote('user:bob', 'approve'))).toBe(done);
    expect(() => castVote(done, vote('user:bob', 'reject'))).toThrow(
      expect.objectContaining({ code: 'APPROVAL_DECIDED', message: expect.stringContaining('user:ann') }),
    );
  });

  test('stays recorded if it was overruled', () => {
    const first = castVote(approval({ quorum: 2 }), vote('user:ann', 'approve'));
    const done = castVote(first, vote('user:bob', 'reject'));
    expect(castVote(done, vote('user:ann', 'approve'))).toBe(done);
  });

  test('counts a millisecond before the deadline, but not at the deadline', () => {
    const open = approval({ timeout: { hours: 1 } });
    expect(castVote(open, vote('user:ann', 'approve', START + HOUR - 1)).status).toBe('APPROVED');
    for (const late of [START + HOUR, START + HOUR + 1])
      expect(() => castVote(open, vote('user:ann', 'approve', late))).toThrow(
        expect.objectContaining({ code: 'APPROVAL_EXPIRED' }),
      );
  });

  test('is refused for an expired or withdrawn approval, even if it equals the outcome', () => {
    const expired = expire(approval({ timeout: { hours: 1 }, onTimeout: 'approve' }), START + HOUR);
    expect(() => castVote(expired, vote('user:ann', 'approve'))).toThrow(
      expect.objectContaining({
        code: 'APPROVAL_EXPIRED',
        message: expect.stringContaining('expired at 2030-01-01T01:00:00.000Z'),
      }),
    );
    const withdrawn = withdraw(approval(), 'the run was cancelled', START + 5);
    expect(() => castVote(withdrawn, vote('user:ann', 'reject'))).toThrow(
      expect.objectContaining({
        code: 'APPROVAL_WITHDRAWN',
        message: expect.stringContaining('withdrawn at 2030-01-01T00:00:00.005Z: the run was cancelled. No'),
      }),
    );
  });

  test('is refused for a person who is not an approver, without any details', () => {
    const done = castVote(approval(), vote('user:ann', 'approve'));
    for (const meta of [approval(), done, withdraw(approval(), 'x', START)])
      expect(() => castVote(meta, vote('user:eve', 'approve'))).toThrow(
        expect.objectContaining({ code: 'NOT_AN_APPROVER' }),
      );
  });
});

describe('an approver', () => {
  const meta = approval({ approvers: ['user:ann', 'group:finance'] });

  test('is named in the request, or belongs to a group that is', () => {
    expect(matchApprover(meta, 'user:ann', ['group:finance'])).toEqual({});
    expect(matchApprover(meta, 'user:bob', ['group:sales', 'group:finance'])).toEqual({ as: 'group:finance' });
    expect(matchApprover(meta, 'user:bob', ['group:sales'])).toBeUndefined();
    expect(matchApprover(meta, 'user:bob')).toBeUndefined();
  });

  test('is never a group, or a name passed as a group', () => {
    expect(matchApprover(meta, 'group:finance', ['group:finance'])).toBeUndefined();
    expect(matchApprover(meta, 'user:bob', ['user:ann'])).toBeUndefined();
    expect(() => castVote(meta, { ...vote('user:bob', 'approve'), as: 'user:ann' })).toThrow(
      expect.objectContaining({ code: 'NOT_AN_APPROVER' }),
    );
  });
});

describe('the next due action', () => {
  test('is to notify people, and to retry with growing delays of at most an hour', () => {
    let meta = approval();
    expect(dueAction(meta, START)).toBe('notify');
    let now = START;
    const pauses = Array.from({ length: 9 }, () => {
      meta = startNotifyAttempt(meta, now);
      const next = dueAt(meta) ?? Infinity;
      const pause = next - now;
      expect(dueAction(meta, next - 1)).toBeUndefined();
      expect(dueAction(meta, next)).toBe('notify');
      now = next;
      return pause / MINUTE;
    });
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
    const done = markNotified(meta, meta, now);
    expect(done).toMatchObject({ notifiedAt: now, pendingNotification: undefined, notifyAttempts: undefined });
    expect(dueAt(done)).toBeUndefined();
  });

  test('stays a notification that became due while another one was sent', () => {
    const requested = approval({ escalateTo: ['user:eve'], escalateAfter: { hours: 1 } });
    const meta = escalate(requested, START + HOUR);
    expect(markNotified(meta, requested, START + HOUR)).toMatchObject({
      pendingNotification: 'escalated',
      notifiedAt: START + HOUR,
    });
  });

  test('is a reminder at each interval, and one for all that were missed', () => {
    const meta = notified(approval({ remindAfter: { hours: 2 } }), START);
    expect(dueAt(meta)).toBe(START + 2 * HOUR);
    expect(dueAction(meta, START + 2 * HOUR - 1)).toBeUndefined();
    expect(dueAction(meta, START + 2 * HOUR)).toBe('remind');
    const first = remind(meta, START + 2 * HOUR);
    expect(first).toMatchObject({ pendingNotification: 'reminder', reminders: 1 });
    expect(dueAction(first, START + 2 * HOUR)).toBe('notify');
    expect(dueAt(notified(first, START + 2 * HOUR))).toBe(START + 4 * HOUR);
    const late = remind(notified(first, START + 2 * HOUR), START + 9 * HOUR);
    expect(late.reminders).toBe(4);
    expect(dueAt(notified(late, START + 9 * HOUR))).toBe(START + 10 * HOUR);
  });

  test('is the first notification instead of a reminder until people have been notified', () => {
    expect(remind(approval({ remindAfter: { hours: 1 } }), START + HOUR)).toMatchObject({
      pendingNotification: 'requested',
      reminders: 1,
    });
  });

  test('is one escalation at half of the timeout, and expiry at the deadline', () => {
    const meta = notified(approval({ timeout: { hours: 4 }, escalateTo: ['user:eve', 'user:ann'] }), START);
    expect(dueAt(meta)).toBe(START + 2 * HOUR);
    expect(dueAction(meta, START + 2 * HOUR)).toBe('escalate');
    const more = escalate(meta, START + 2 * HOUR);
    expect(more).toMatchObject({
      approvers: ['user:ann', 'user:bob', 'user:eve'],
      pendingNotification: 'escalated',
      deadline: START + 4 * HOUR,
    });
    expect(escalate(more, START + 3 * HOUR)).toBe(more);
    expect(dueAt(notified(more, START + 2 * HOUR))).toBe(START + 4 * HOUR);
    expect(castVote(more, vote('user:eve', 'approve')).status).toBe('APPROVED');
  });

  test('is an escalation at the given time, also without a timeout', () => {
    const meta = notified(approval({ escalateTo: ['user:eve'], escalateAfter: { minutes: 5 } }), START);
    expect(dueAt(meta)).toBe(START + 5 * MINUTE);
    expect(dueAt(notified(escalate(meta, START + 5 * MINUTE), START + 5 * MINUTE))).toBeUndefined();
  });

  test('is an escalation at the deadline, which is extended once, and then a rejection', () => {
    const meta = notified(approval({ timeout: { hours: 1 }, onTimeout: 'escalate', escalateTo: ['user:eve'] }), START);
    expect(dueAction(meta, START + HOUR - 1)).toBeUndefined();
    expect(dueAction(meta, START + HOUR)).toBe('escalate');
    const more = notified(escalate(meta, START + HOUR), START + HOUR);
    expect(more.deadline).toBe(START + 2 * HOUR);
    expect(dueAction(more, START + 2 * HOUR)).toBe('expire');
    expect(expire(more, START + 2 * HOUR)).toMatchObject({ status: 'EXPIRED', outcome: 'reject' });
    // A vote before the sweep counts as one within the extended time.
    expect(castVote(meta, vote('user:eve', 'approve', START + HOUR))).toMatchObject({
      status: 'APPROVED',
      escalatedAt: START + HOUR,
    });
  });

  test.each(['approve', 'reject', 'fail'] as const)(
    'has the outcome %s at the deadline if the request says so',
    (onTimeout) => {
      const meta = notified(approval({ timeout: { hours: 1 }, onTimeout }), START);
      expect(dueAction(meta, START + HOUR)).toBe('expire');
      const expired = expire(meta, START + 3 * HOUR);
      expect(expired).toMatchObject({ status: 'EXPIRED', outcome: onTimeout, endedAt: START + HOUR });
      expect(dueAt(expired)).toBeUndefined();
    },
  );

  test('does not exist for an ended approval, whose status is final', () => {
    const done = castVote(approval({ timeout: { hours: 1 }, remindAfter: { minutes: 1 } }), vote('user:ann', 'reject'));
    expect(dueAction(done, START + 9 * HOUR)).toBeUndefined();
    for (const change of [expire(done, START), withdraw(done, 'x', START), remind(done, START), escalate(done, START)])
      expect(change).toBe(done);
  });
});
