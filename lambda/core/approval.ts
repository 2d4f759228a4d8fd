import type { ApprovalTerms, OnTimeout } from './approval-request.ts';
import type { Delegation } from './delegation.ts';
import type { Approver, Person } from './person.ts';

export {
  type ApprovalRequest,
  type ApprovalTerms,
  checkApprovalRequest,
  type GroupMembers,
} from './approval-request.ts';
export { type Approver, checkApprover, checkPerson, isGroup, type Person } from './person.ts';

/** The statuses of an approval; all but PENDING are final. */
export const APPROVAL_STATUSES = ['PENDING', 'APPROVED', 'REJECTED', 'EXPIRED', 'WITHDRAWN'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** An approver's vote. */
export type VoteAnswer = 'approve' | 'reject';

/** What an ended approval means for its run. */
export type ApprovalOutcome = VoteAnswer | 'fail';

/** Why approvers are notified. */
export type NotificationKind = 'requested' | 'proposed' | 'reminder' | 'escalated';

/**
 * One person's vote. A person votes once on the same content, no matter how many groups they belong to or for whom they
 * answer.
 */
export interface Vote {
  readonly by: Person;
  /** The person for whom a delegate voted. */
  readonly for?: Person | undefined;
  /** The delegation that allowed it. */
  readonly delegation?: VoteDelegation | undefined;
  /** The group that makes them an approver; absent when they are an approver by name. */
  readonly as?: string | undefined;
  readonly answer: VoteAnswer;
  readonly at: number;
  /** Comment and edits, encrypted if the run is encrypted. */
  readonly content?: string | undefined;
  /** The hash of the proposed changes that this vote is for; absent for a vote on the request as it was made. */
  readonly proposal?: string | undefined;
  /** `stated` if an administrator said that they are a member of the group, and nobody checked it. */
  readonly membership?: 'stated' | undefined;
  /** Whether this vote proposed these changes. */
  readonly proposes?: true | undefined;
}

/** What a vote records of the delegation that allowed it; the delegation itself is removed when it has ended. */
export type VoteDelegation = Pick<Delegation, 'from' | 'until' | 'createdBy' | 'createdAt'>;

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
  /** Whether an approval must carry an answer. */
  readonly question?: true | undefined;
  /** Whether anyone can vote for a group whose members nobody knows. */
  readonly openGroups?: true | undefined;
  /** The person who requested the run, and whether that person cannot vote. */
  readonly requestedBy?: Person | undefined;
  readonly excludeRequester?: true | undefined;
  /** The members of the groups, as the agent's hook listed them last; encrypted if the run is encrypted. */
  readonly members?: string | undefined;
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
  request: Pick<ApprovalMeta, 'agent' | 'name' | 'requestNumber' | 'contentHash' | 'requestedBy'>,
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

const NO_PENDING_NOTIFICATION = { pendingNotification: undefined, notifyAttempts: undefined, notifyAt: undefined };

/** Ends an approval; nobody is notified about it any more. */
export const endApproval = (
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
  return ACTIONS_BY_URGENCY.find((action) => actionDueAt(meta, action) <= now && (canNotify || action !== 'notify'));
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

/**
 * Records that approvers were notified of the approval as it was then (`notified`). A notification stays pending if it is
 * of another kind, or about changes that were proposed in the meantime.
 */
export function markNotified(meta: ApprovalMeta, notified: ApprovalMeta, now: number): ApprovalMeta {
  const isSame =
    meta.pendingNotification === notified.pendingNotification && countProposals(meta) === countProposals(notified);
  return { ...meta, notifiedAt: now, ...(isSame && NO_PENDING_NOTIFICATION) };
}

/** How many changes approvers have proposed. */
export const countProposals = ({ votes }: Pick<ApprovalMeta, 'votes'>): number =>
  votes.filter(({ proposes }) => proposes).length;

/** Drops the pending notification when no notifier is configured; approvers find the approval in their inbox. */
export const clearNotification = (meta: ApprovalMeta): ApprovalMeta => ({ ...meta, ...NO_PENDING_NOTIFICATION });
