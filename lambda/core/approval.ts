import { type ApprovalTerms, type Approver, isGroup, type OnTimeout, type Person } from './approval-request.ts';
import { WaitstateError } from './errors.ts';

export {
  type ApprovalRequest,
  type ApprovalTerms,
  type Approver,
  checkApprovalRequest,
  checkApprover,
  checkPerson,
  isGroup,
  type Person,
} from './approval-request.ts';

/** The statuses of an approval; all but PENDING are final. */
export const APPROVAL_STATUSES = ['PENDING', 'APPROVED', 'REJECTED', 'EXPIRED', 'WITHDRAWN'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** An approver's vote. */
export type VoteAnswer = 'approve' | 'reject';

/** What an ended approval means for its run. */
export type ApprovalOutcome = VoteAnswer | 'fail';

/** Why approvers are notified. */
export type NotificationKind = 'requested' | 'reminder' | 'escalated';

/** One person's vote. A person votes once, no matter how many groups they belong to. */
export interface Vote {
  readonly by: Person;
  /** The group that makes them an approver; absent when they are an approver by name. */
  readonly as?: string | undefined;
  readonly answer: VoteAnswer;
  readonly at: number;
  /** Comment and edits, encrypted if the run is encrypted. */
  readonly content?: string | undefined;
}

/** The unencrypted part of an approval: everything except its content. All times are in milliseconds. */
export interface ApprovalMeta {
  readonly agent?: string | undefined;
  readonly name: string;
  /** 1, 2, …: how many times it was requested. */
  readonly requestNumber: number;
  /** The hash of the content that approvers see. */
  readonly contentHash: string;
  readonly approvers: readonly Approver[];
  readonly quorum: number;
  readonly requestedAt: number;
  readonly deadline?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly remindAfterMs?: number | undefined;
  readonly escalateAfterMs?: number | undefined;
  readonly escalateTo?: readonly Approver[] | undefined;
  readonly onTimeout: OnTimeout;
  readonly editable: boolean;
  readonly status: ApprovalStatus;
  readonly votes: readonly Vote[];
  readonly endedAt?: number | undefined;
  readonly outcome?: ApprovalOutcome | undefined;
  /** When approvers were last notified. */
  readonly notifiedAt?: number | undefined;
  /** The number of reminders that were due so far. */
  readonly reminders?: number | undefined;
  readonly escalatedAt?: number | undefined;
  /** The pending notification, the number of attempts to send it, and when the next attempt is due. */
  readonly pendingNotification?: NotificationKind | undefined;
  readonly notifyAttempts?: number | undefined;
  readonly notifyAt?: number | undefined;
  /** Encrypted if a person gave it and the run is encrypted. */
  readonly withdrawalReason?: string | undefined;
}

/** Whether a text of an approval is stored encrypted; a text of an unencrypted run may also start like that. */
export const isEncryptedText = (text: string): boolean => text.startsWith('~');

/** A new pending approval whose first notification is due immediately. */
export function newApproval(
  request: Pick<ApprovalMeta, 'agent' | 'name' | 'requestNumber' | 'contentHash'>,
  terms: ApprovalTerms,
  now: number,
): ApprovalMeta {
  const deadline = terms.timeoutMs === undefined ? undefined : now + terms.timeoutMs;
  return {
    ...request,
    ...terms,
    requestedAt: now,
    deadline,
    status: 'PENDING',
    votes: [],
    pendingNotification: 'requested',
    notifyAt: now,
  };
}

/** How a person is an approver: by name, through one of their groups (`as`), or not at all (undefined). */
export function matchApprover(
  { approvers }: Pick<ApprovalMeta, 'approvers'>,
  by: string,
  groups: readonly string[] = [],
): { readonly as?: string } | undefined {
  // A caller who claims to be a group would vote for all of its members.
  if (isGroup(by)) return undefined;
  if (approvers.some((approver) => approver === by)) return {};
  const as = approvers.find((approver) => isGroup(approver) && groups.includes(approver));
  return as === undefined ? undefined : { as };
}

/**
 * The approval after a vote. Repeating your own vote, or voting for the outcome that was already reached, changes
 * nothing. Any other vote after that is rejected, and so is a late one.
 */
export function castVote(meta: ApprovalMeta, newVote: Vote): ApprovalMeta {
  const { by, answer, at } = newVote;
  const now = applyTimeouts(meta, at);
  if (!matchApprover(now, by, newVote.as === undefined ? [] : [newVote.as])) throw notAnApprover(now, by);
  if (now.status === 'EXPIRED') throw approvalExpired(now);
  if (now.status === 'WITHDRAWN') throw approvalWithdrawn(now);
  const earlierVote = now.votes.find((earlier) => earlier.by === by);
  if (earlierVote ? earlierVote.answer === answer : now.outcome === answer) return meta;
  if (earlierVote || now.status !== 'PENDING') throw approvalDecided(now, earlierVote);
  return countVotes({ ...now, votes: [...now.votes, newVote] }, at);
}

function countVotes(meta: ApprovalMeta, at: number): ApprovalMeta {
  const approvals = meta.votes.filter(({ answer }) => answer === 'approve').length;
  if (approvals < meta.votes.length) return endApproval(meta, { status: 'REJECTED', outcome: 'reject', endedAt: at });
  return approvals < meta.quorum ? meta : endApproval(meta, { status: 'APPROVED', outcome: 'approve', endedAt: at });
}

const NO_PENDING_NOTIFICATION = { pendingNotification: undefined, notifyAttempts: undefined, notifyAt: undefined };

const endApproval = (
  meta: ApprovalMeta,
  end: Required<Pick<ApprovalMeta, 'status' | 'outcome' | 'endedAt'>>,
): ApprovalMeta => ({ ...meta, ...NO_PENDING_NOTIFICATION, ...end });

/** The approval as of now: escalated or expired if that is due, even when it is not stored yet. */
export function applyTimeouts(meta: ApprovalMeta, now: number): ApprovalMeta {
  const action = dueAction(meta, now);
  if (action === 'expire') return expire(meta, now);
  return action === 'escalate' ? escalate(meta, now) : meta;
}

/** What can become due on an approval. */
export type DueAction = 'expire' | 'escalate' | 'remind' | 'notify';

/**
 * The most urgent action that is due. An approval expires exactly at its deadline, to the millisecond. A process that
 * cannot notify leaves the notification, and the time at which it is due, to a process that can.
 */
export function dueAction(meta: ApprovalMeta, now: number, canNotify = true): DueAction | undefined {
  return ACTIONS_BY_URGENCY.find(
    (action) => actionDueAt(meta, action) <= now && (canNotify || action !== 'notify'),
  );
}

/** When the next action is due; undefined when none is. */
export function dueAt(meta: ApprovalMeta): number | undefined {
  const next = Math.min(...ACTIONS_BY_URGENCY.map((action) => actionDueAt(meta, action)));
  return next === Infinity ? undefined : next;
}

const ACTIONS_BY_URGENCY = ['expire', 'escalate', 'remind', 'notify'] as const satisfies readonly DueAction[];

function actionDueAt(meta: ApprovalMeta, action: DueAction): number {
  if (meta.status !== 'PENDING') return Infinity;
  const { requestedAt, deadline = Infinity, remindAfterMs = Infinity, reminders = 0 } = meta;
  if (action === 'expire') return escalatesAtDeadline(meta) ? Infinity : deadline;
  if (action === 'escalate') return escalationDueAt(meta);
  if (action === 'remind') return requestedAt + (reminders + 1) * remindAfterMs;
  return meta.pendingNotification === undefined ? Infinity : (meta.notifyAt ?? requestedAt);
}

/** Whether the approval escalates at its deadline instead of expiring. */
const escalatesAtDeadline = ({ onTimeout, escalatedAt }: ApprovalMeta): boolean =>
  onTimeout === 'escalate' && escalatedAt === undefined;

function escalationDueAt({
  escalateTo,
  escalatedAt,
  escalateAfterMs,
  requestedAt,
  deadline,
  onTimeout,
}: ApprovalMeta): number {
  if (!escalateTo || escalatedAt !== undefined) return Infinity;
  if (escalateAfterMs !== undefined) return requestedAt + escalateAfterMs;
  return onTimeout === 'escalate' ? (deadline ?? Infinity) : Infinity;
}

/** Schedules a reminder; several missed reminders become a single one. */
export function remind(meta: ApprovalMeta, now: number): ApprovalMeta {
  if (meta.status !== 'PENDING') return meta;
  const { requestedAt, remindAfterMs, reminders = 0, pendingNotification } = meta;
  const due =
    remindAfterMs === undefined ? meta.reminders : Math.max(reminders, Math.floor((now - requestedAt) / remindAfterMs));
  // A notification that is still pending serves as the reminder.
  return pendingNotification === undefined
    ? { ...meta, reminders: due, pendingNotification: 'reminder', notifyAt: now }
    : { ...meta, reminders: due };
}

/**
 * Adds the escalation approvers and notifies everybody. An escalation at the deadline extends it by the whole timeout,
 * counted from now.
 */
export function escalate(meta: ApprovalMeta, now: number): ApprovalMeta {
  const { status, approvers, escalateTo, escalatedAt, deadline, timeoutMs } = meta;
  if (status !== 'PENDING' || !escalateTo || escalatedAt !== undefined) return meta;
  const movesDeadline =
    escalatesAtDeadline(meta) && deadline !== undefined && timeoutMs !== undefined && now >= deadline;
  return {
    ...meta,
    approvers: [...new Set([...approvers, ...escalateTo])],
    escalatedAt: now,
    deadline: movesDeadline ? now + timeoutMs : deadline,
    pendingNotification: 'escalated',
    notifyAttempts: undefined,
    notifyAt: now,
  };
}

/** Ends a pending approval as expired. */
export function expire(meta: ApprovalMeta, now: number): ApprovalMeta {
  if (meta.status !== 'PENDING') return meta;
  const outcome = meta.onTimeout === 'escalate' ? 'reject' : meta.onTimeout;
  return endApproval(meta, { status: 'EXPIRED', outcome, endedAt: Math.min(meta.deadline ?? now, now) });
}

/** Ends a pending approval that is no longer needed; a run that still waits for it sees a rejection. */
export function withdraw(meta: ApprovalMeta, reason: string, now: number): ApprovalMeta {
  if (meta.status !== 'PENDING') return meta;
  return { ...endApproval(meta, { status: 'WITHDRAWN', outcome: 'reject', endedAt: now }), withdrawalReason: reason };
}

const INITIAL_NOTIFY_DELAY_MS = 60_000;
const MAX_NOTIFY_DELAY_MS = 3_600_000;

/** The delay between an attempt to notify and the next one; `attempts` counts the attempts before it. */
const notifyDelayMs = (attempts: number): number =>
  Math.min(INITIAL_NOTIFY_DELAY_MS * 2 ** attempts, MAX_NOTIFY_DELAY_MS);

/** Records an attempt to notify and schedules the next one with exponential backoff, in case this attempt fails. */
export function startNotifyAttempt(meta: ApprovalMeta, now: number): ApprovalMeta {
  const { notifyAttempts = 0 } = meta;
  return { ...meta, notifyAttempts: notifyAttempts + 1, notifyAt: now + notifyDelayMs(notifyAttempts) };
}

/** A notification that was due more than two minutes ago and has not been sent. */
export interface UnsentNotification {
  readonly kind: NotificationKind;
  /** When it was due, or when the first attempt was made. */
  readonly since: number;
  /** The failed attempts; 0 if no process could try, because none has the agent. */
  readonly attempts: number;
}

const UNSENT_AFTER_MS = 120_000;

/** The notification that approvers still wait for, if it is late. */
export function unsentNotification(meta: ApprovalMeta, now: number): UnsentNotification | undefined {
  const { status, pendingNotification: kind, notifyAt, notifyAttempts: attempts = 0, requestedAt } = meta;
  if (status !== 'PENDING' || kind === undefined) return undefined;
  let since = notifyAt ?? requestedAt;
  for (let attempt = 0; attempt < attempts; attempt++) since -= notifyDelayMs(attempt);
  return since + UNSENT_AFTER_MS <= now ? { kind, since, attempts } : undefined;
}

/** Records a sent notification; a newer pending one of another kind stays pending. */
export function markNotified(meta: ApprovalMeta, kind: NotificationKind, now: number): ApprovalMeta {
  return { ...meta, notifiedAt: now, ...(meta.pendingNotification === kind && NO_PENDING_NOTIFICATION) };
}

/** Drops the pending notification when no notifier is configured; approvers find the approval in their inbox. */
export const clearNotification = (meta: ApprovalMeta): ApprovalMeta => ({ ...meta, ...NO_PENDING_NOTIFICATION });

/** When something happened, for the middle of a sentence. */
const atTime = (time: number | undefined): string => (time === undefined ? '' : ` at ${new Date(time).toISOString()}`);

export const notAnApprover = ({ name }: Pick<ApprovalMeta, 'name'>, by: string): WaitstateError =>
  new WaitstateError(
    'NOT_AN_APPROVER',
    `"${by}" is not an approver of "${name}", neither by name nor through a group. Ask one of its approvers to decide.`,
  );

export const approvalExpired = ({ name, deadline }: ApprovalMeta): WaitstateError =>
  new WaitstateError(
    'APPROVAL_EXPIRED',
    `Approval "${name}" expired${atTime(deadline)}; this decision came later and does not count.`,
  );

function approvalWithdrawn({ name, endedAt, withdrawalReason = '' }: ApprovalMeta): WaitstateError {
  const reason = isEncryptedText(withdrawalReason) ? '' : withdrawalReason.replace(/\.$/, '');
  return new WaitstateError(
    'APPROVAL_WITHDRAWN',
    `Approval "${name}" was withdrawn${atTime(endedAt)}${reason && `: ${reason}`}. No decision is needed.`,
  );
}

function approvalDecided({ name, votes, endedAt }: ApprovalMeta, earlierVote: Vote | undefined): WaitstateError {
  const vote = earlierVote ?? votes.at(-1);
  const decided = vote ? `${vote.by} voted ${vote.answer}${atTime(vote.at)}` : `it was decided${atTime(endedAt)}`;
  return new WaitstateError(
    'APPROVAL_DECIDED',
    `Approval "${name}": ${decided}, and a different vote cannot follow. Nothing was changed.`,
  );
}
