import { describe, expect, test } from 'vitest';
import {
  type ApprovalMeta,
  type ApprovalRequest,
  castVote,
  checkApprovalRequest,
  dueAction,
  dueAt,
  escalate,
  expire,
  markNotified,
  matchApprover,
  newApproval,
  remind,
  startNotifyAttempt,
  withdraw,
} from '../../../lambda/core/approval.ts';
import { HOUR, MINUTE } from '../../faults/clock.ts';

const START = Date.UTC(2030, 0, 1);

const approval = (request: Partial<ApprovalRequest> = {}): ApprovalMeta =>
  newApproval(
    { name: 'pay', ask: 1, shown: 'ab' },
    checkApprovalRequest({ title: 'Pay?', approvers: ['user:ann', 'user:bob'], ...request }),
    START,
  );

const says = (by: string, answer: 'approve' | 'reject', at = START + 1) => ({ by, answer, at });
const told = (meta: ApprovalMeta, now: number) => (meta.tell ? markNotified(meta, meta.tell, now) : meta);

describe('an answer', () => {
  test('approves when the quorum is reached, and not before', () => {
    const first = castVote(approval({ quorum: 2 }), says('user:ann', 'approve'));
    expect(first).toMatchObject({ status: 'PENDING', votes: [{ by: 'user:ann' }] });
    expect(first.outcome).toBeUndefined();
    const second = castVote(first, says('user:bob', 'approve', START + 2));
    expect(second).toMatchObject({ status: 'APPROVED', outcome: 'approve', endedAt: START + 2 });
    expect(second.tell).toBeUndefined();
    expect(dueAt(second)).toBeUndefined();
  });

  test('rejects alone, whatever the quorum', () => {
    const first = castVote(approval({ quorum: 2 }), says('user:ann', 'approve'));
    expect(castVote(first, says('user:bob', 'reject'))).toMatchObject({ status: 'REJECTED', outcome: 'reject' });
  });

  test('counts once for one person, by name or through a group', () => {
    const open = approval({ approvers: ['group:a', 'group:b'], quorum: 2 });
    const first = castVote(open, { ...says('user:ann', 'approve'), as: 'group:a' });
    expect(first.votes).toHaveLength(1);
    expect(castVote(first, { ...says('user:ann', 'approve'), as: 'group:b' })).toBe(first);
  });

  test('that is the opposite of one’s own is refused, while others may still answer', () => {
    const first = castVote(approval({ quorum: 2 }), says('user:ann', 'approve'));
    expect(() => castVote(first, says('user:ann', 'reject'))).toThrow(
      expect.objectContaining({
        code: 'APPROVAL_DECIDED',
        message: expect.stringContaining('user:ann voted approve at 2030-01-01T00:00:00.001Z'),
      }),
    );
  });

  test('after the end is the recorded one when it is the same, and refused when it is not', () => {
    const done = castVote(approval(), says('user:ann', 'approve'));
    expect(castVote(done, says('user:ann', 'approve', START + 9))).toBe(done);
    expect(castVote(done, says('user:bob', 'approve'))).toBe(done);
    expect(() => castVote(done, says('user:bob', 'reject'))).toThrow(
      expect.objectContaining({ code: 'APPROVAL_DECIDED', message: expect.stringContaining('user:ann') }),
    );
  });

  test('that was overruled stays the recorded one', () => {
    const first = castVote(approval({ quorum: 2 }), says('user:ann', 'approve'));
    const done = castVote(first, says('user:bob', 'reject'));
    expect(castVote(done, says('user:ann', 'approve'))).toBe(done);
  });

  test('counts a millisecond before the deadline and not at it', () => {
    const open = approval({ timeout: { hours: 1 } });
    expect(castVote(open, says('user:ann', 'approve', START + HOUR - 1)).status).toBe('APPROVED');
    for (const late of [START + HOUR, START + HOUR + 1])
      expect(() => castVote(open, says('user:ann', 'approve', late))).toThrow(
        expect.objectContaining({ code: 'APPROVAL_EXPIRED' }),
      );
  });

  test('is refused of what expired or was withdrawn, even when it is what came of it', () => {
    const expired = expire(approval({ timeout: { hours: 1 }, onTimeout: 'approve' }), START + HOUR);
    expect(() => castVote(expired, says('user:ann', 'approve'))).toThrow(
      expect.objectContaining({ code: 'APPROVAL_EXPIRED' }),
    );
    const withdrawn = withdraw(approval(), 'the run was cancelled', START + 5);
    expect(() => castVote(withdrawn, says('user:ann', 'reject'))).toThrow(
      expect.objectContaining({
        code: 'APPROVAL_WITHDRAWN',
        message: expect.stringContaining('the run was cancelled'),
      }),
    );
  });

  test('of somebody who is not asked is refused before anything is told', () => {
    const done = castVote(approval(), says('user:ann', 'approve'));
    for (const meta of [approval(), done, withdraw(approval(), 'x', START)])
      expect(() => castVote(meta, says('user:eve', 'approve'))).toThrow(
        expect.objectContaining({ code: 'NOT_AN_APPROVER' }),
      );
  });
});

describe('who may decide', () => {
  const meta = approval({ approvers: ['user:ann', 'group:finance'] });

  test('is who is asked by name, or is in a group that is asked', () => {
    expect(matchApprover(meta, 'user:ann', ['group:finance'])).toEqual({});
    expect(matchApprover(meta, 'user:bob', ['group:sales', 'group:finance'])).toEqual({ as: 'group:finance' });
    expect(matchApprover(meta, 'user:bob', ['group:sales'])).toBeUndefined();
    expect(matchApprover(meta, 'user:bob')).toBeUndefined();
  });

  test('is nobody who calls themselves a group, or passes a name as a group', () => {
    expect(matchApprover(meta, 'group:finance', ['group:finance'])).toBeUndefined();
    expect(matchApprover(meta, 'user:bob', ['user:ann'])).toBeUndefined();
    expect(() => castVote(meta, { ...says('user:bob', 'approve'), as: 'user:ann' })).toThrow(
      expect.objectContaining({ code: 'NOT_AN_APPROVER' }),
    );
  });
});

describe('what is due', () => {
  test('is first to tell people, then again with a growing pause of at most an hour', () => {
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
    const done = markNotified(meta, 'asked', now);
    expect(done).toMatchObject({ told: now, tell: undefined, tellTries: undefined });
    expect(dueAt(done)).toBeUndefined();
  });

  test('is nothing of what people must be told since they were told something else', () => {
    const meta = escalate(approval({ escalateTo: ['user:eve'], escalateAfter: { hours: 1 } }), START + HOUR);
    expect(markNotified(meta, 'asked', START + HOUR)).toMatchObject({ tell: 'escalation', told: START + HOUR });
  });

  test('is a reminder each time, and one for all that nobody sent', () => {
    const meta = told(approval({ remindAfter: { hours: 2 } }), START);
    expect(dueAt(meta)).toBe(START + 2 * HOUR);
    expect(dueAction(meta, START + 2 * HOUR - 1)).toBeUndefined();
    expect(dueAction(meta, START + 2 * HOUR)).toBe('remind');
    const first = remind(meta, START + 2 * HOUR);
    expect(first).toMatchObject({ tell: 'reminder', reminders: 1 });
    expect(dueAction(first, START + 2 * HOUR)).toBe('notify');
    expect(dueAt(told(first, START + 2 * HOUR))).toBe(START + 4 * HOUR);
    const late = remind(told(first, START + 2 * HOUR), START + 9 * HOUR);
    expect(late.reminders).toBe(4);
    expect(dueAt(told(late, START + 9 * HOUR))).toBe(START + 10 * HOUR);
  });

  test('is the question, and not a reminder of it, as long as people were not told', () => {
    expect(remind(approval({ remindAfter: { hours: 1 } }), START + HOUR)).toMatchObject({
      tell: 'asked',
      reminders: 1,
    });
  });

  test('is an escalation at half of the timeout, once, and the end at the deadline', () => {
    const meta = told(approval({ timeout: { hours: 4 }, escalateTo: ['user:eve', 'user:ann'] }), START);
    expect(dueAt(meta)).toBe(START + 2 * HOUR);
    expect(dueAction(meta, START + 2 * HOUR)).toBe('escalate');
    const more = escalate(meta, START + 2 * HOUR);
    expect(more).toMatchObject({
      approvers: ['user:ann', 'user:bob', 'user:eve'],
      tell: 'escalation',
      deadline: START + 4 * HOUR,
    });
    expect(escalate(more, START + 3 * HOUR)).toBe(more);
    expect(dueAt(told(more, START + 2 * HOUR))).toBe(START + 4 * HOUR);
    expect(castVote(more, says('user:eve', 'approve')).status).toBe('APPROVED');
  });

  test('is an escalation when it is said to be, also without a timeout', () => {
    const meta = told(approval({ escalateTo: ['user:eve'], escalateAfter: { minutes: 5 } }), START);
    expect(dueAt(meta)).toBe(START + 5 * MINUTE);
    expect(dueAt(told(escalate(meta, START + 5 * MINUTE), START + 5 * MINUTE))).toBeUndefined();
  });

  test('is an escalation at the deadline, which moves once, and then a rejection', () => {
    const meta = told(approval({ timeout: { hours: 1 }, onTimeout: 'escalate', escalateTo: ['user:eve'] }), START);
    expect(dueAction(meta, START + HOUR - 1)).toBeUndefined();
    expect(dueAction(meta, START + HOUR)).toBe('escalate');
    const more = told(escalate(meta, START + HOUR), START + HOUR);
    expect(more.deadline).toBe(START + 2 * HOUR);
    expect(dueAction(more, START + 2 * HOUR)).toBe('expire');
    expect(expire(more, START + 2 * HOUR)).toMatchObject({ status: 'EXPIRED', outcome: 'reject' });
    // Whoever answers before somebody looked does so in the time that it brings.
    expect(castVote(meta, says('user:eve', 'approve', START + HOUR))).toMatchObject({
      status: 'APPROVED',
      escalatedAt: START + HOUR,
    });
  });

  test.each(['approve', 'reject', 'fail'] as const)('at the deadline comes to %s where that was said', (onTimeout) => {
    const meta = told(approval({ timeout: { hours: 1 }, onTimeout }), START);
    expect(dueAction(meta, START + HOUR)).toBe('expire');
    const over = expire(meta, START + 3 * HOUR);
    expect(over).toMatchObject({ status: 'EXPIRED', outcome: onTimeout, endedAt: START + HOUR });
    expect(dueAt(over)).toBeUndefined();
  });

  test('is never anything of an approval that ended, and its end is for ever', () => {
    const done = castVote(approval({ timeout: { hours: 1 }, remindAfter: { minutes: 1 } }), says('user:ann', 'reject'));
    expect(dueAction(done, START + 9 * HOUR)).toBeUndefined();
    for (const change of [expire(done, START), withdraw(done, 'x', START), remind(done, START), escalate(done, START)])
      expect(change).toBe(done);
  });
});
