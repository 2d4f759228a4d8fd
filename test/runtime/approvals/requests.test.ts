import { describe, expect, expectTypeOf, test } from 'vitest';
import { type ApprovalRequest, type Approver, checkApprovalRequest } from '../../../lambda/core/approval.ts';
import type { DecideInput } from '../../../lambda/runtime/approvals/decide-input.ts';

const people = (count: number) => Array.from({ length: count }, (_, index) => `user:${index}`);
const check = (request: object) =>
  checkApprovalRequest({ title: 'Pay?', approvers: ['user:ann'], ...request } as ApprovalRequest);

describe('a request for an approval', () => {
  test('has defaults for all terms', () => {
    expect(check({})).toEqual({
      ...{ approvers: ['user:ann'], quorum: 1, onTimeout: 'reject', editable: false },
      ...{ timeoutMs: undefined, remindAfterMs: undefined, escalateAfterMs: undefined, escalateTo: undefined },
    });
    expect(check({ timeout: { minutes: 1 }, escalateTo: ['user:b'], editable: {} })).toMatchObject({
      ...{ timeoutMs: 60_000, escalateAfterMs: 30_000, editable: true },
    });
  });

  test('accepts the maximum number of approvers', () => {
    expect(check({ approvers: people(40), quorum: 40 }).quorum).toBe(40);
    expect(check({ approvers: ['group:a'], quorum: 5 }).quorum).toBe(5);
    expect(check({ escalateTo: people(20), escalateAfter: { hours: 1 } }).escalateTo).toHaveLength(20);
  });

  test('takes people and groups, in its type too', () => {
    const request = { title: 'Pay?', approvers: ['user:ann', 'group:finance'], escalateTo: ['user:boss'] } as const;
    expect(checkApprovalRequest({ ...request, timeout: { hours: 1 } })).toMatchObject({
      approvers: ['user:ann', 'group:finance'],
      escalateTo: ['user:boss'],
    });
    expectTypeOf(request).toExtend<ApprovalRequest>();
    expectTypeOf<ApprovalRequest['approvers'][number]>().toEqualTypeOf<Approver>();
    expectTypeOf<'ann'>().not.toExtend<Approver>();
    expectTypeOf<DecideInput['by']>().toEqualTypeOf<`user:${string}`>();
  });

  test('ignores fields that are not terms', () => {
    expect(() => check({ recheck: () => 1, same: 2, maxRequests: 'x', key: null })).not.toThrow();
  });

  test.each([
    ['a missing title', { title: undefined }, '`title`'],
    ['an empty title', { title: '' }, '`title`'],
    ['a title of 501 characters', { title: 'x'.repeat(501) }, '`title`'],
    ['no approvers', { approvers: [] }, '`approvers`'],
    ['approvers that are not a list', { approvers: 'user:ann' }, '`approvers`'],
    ['41 approvers', { approvers: people(41) }, '`approvers`'],
    ['an approver who is listed twice', { approvers: ['user:a', 'user:a'] }, 'without duplicates'],
    ['an approver without a name', { approvers: [''] }, 'approver id'],
    ['an approver that is not text', { approvers: [7] }, 'approver id'],
    ['an approver of more than 256 bytes', { approvers: ['é'.repeat(129)] }, '256 bytes'],
    [
      'an approver without a prefix',
      { approvers: ['user:bob', 'ann'] },
      'Each of `approvers` must be "user:" or "group:" followed by a name: write "user:ann" for a person, or "group:finance" for all members of a group; found "ann".',
    ],
    ['an approver with another prefix', { approvers: ['role:admin'] }, 'Each of `approvers`'],
    ['a person without a name', { approvers: ['user:'] }, 'Each of `approvers`'],
    ['a group without a name', { approvers: ['group:'] }, 'Each of `approvers`'],
    [
      'an escalation to someone without a prefix',
      { escalateTo: ['boss'], timeout: { hours: 1 } },
      'Each of `escalateTo` must be "user:" or "group:"',
    ],
    ['a quorum of 0', { quorum: 0 }, '`quorum`'],
    ['a fractional quorum', { quorum: 0.5 }, '`quorum`'],
    ['a quorum above the number of approvers', { quorum: 2 }, '`quorum`'],
    ['a timeout of 0', { timeout: { hours: 0 } }, '`timeout`'],
    ['a timeout that is not a duration', { timeout: 60 }, '`timeout`'],
    ['reminders without an interval', { remindAfter: { milliseconds: 0 } }, '`remindAfter`'],
    ['21 people to escalate to', { escalateTo: people(21), escalateAfter: { hours: 1 } }, '`escalateTo`'],
    ['an escalation without people', { escalateAfter: { hours: 1 } }, '`escalateAfter`'],
    ['an escalation without a time', { escalateTo: ['user:b'] }, '`escalateTo`'],
    [
      'an escalation at the deadline',
      { escalateTo: ['user:b'], timeout: { hours: 1 }, escalateAfter: { hours: 1 } },
      'shorter than `timeout`',
    ],
    ['an unknown `onTimeout`', { onTimeout: 'shrug' }, '`onTimeout`'],
    ['`onTimeout: escalate` without people', { onTimeout: 'escalate', timeout: { hours: 1 } }, '`escalateTo`'],
    ['`onTimeout: escalate` without a timeout', { onTimeout: 'escalate', escalateTo: ['user:b'] }, '`timeout`'],
    ['facts that are a list', { facts: [] }, '`facts`'],
  ])('is refused with %s', (_, request, message) => {
    expect(() => check(request)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringContaining(message) }),
    );
  });

  test('is refused if it is not an object', () => {
    expect(() => checkApprovalRequest(undefined as unknown as ApprovalRequest)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    );
  });
});
