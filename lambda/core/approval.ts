import { type ApprovalTerms, isGroup, type OnTimeout } from './approval-request.ts';
import { WaitstateError } from './errors.ts';

export { type ApprovalRequest, type ApprovalTerms, checkApprovalRequest, isGroup } from './approval-request.ts';

/** Where an approval stands; all but PENDING are for ever. */
export const APPROVAL_STATUSES = ['PENDING', 'APPROVED', 'REJECTED', 'EXPIRED', 'WITHDRAWN'] as const;
export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number];

/** What an approver says. */
export type VoteAnswer = 'approve' | 'reject';

/** What an approval that ended means for its run. */
export type ApprovalOutcome = VoteAnswer | 'fail';

/** Why people are told of an approval. */
export type NotificationKind = 'asked' | 'reminder' | 'escalation';

/** What one person answered; a person has one vote, whichever groups they are in. */
export interface Vote {
  readonly by: string;
  /** The group through which they may answer; absent when they are asked by name. */
  readonly as?: string | undefined;
  readonly answer: VoteAnswer;
  readonly at: number;
  /** Comment and edits, closed as the run is. */
  readonly said?: string | undefined;
}

/** The readable part of an approval: everything but what was shown. All times are in milliseconds. */
export interface ApprovalMeta {
  readonly agent?: string | undefined;
  readonly name: string;
  /** 1, 2, …: how often it was asked. */
  readonly ask: number;
  /** The hash of what was shown. */
  readonly shown: string;
  readonly approvers: readonly string[];
  readonly quorum: number;
  readonly askedAt: number;
  readonly deadline?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly remindAfterMs?: number | undefined;
  readonly escalateAfterMs?: number | undefined;
  readonly escalateTo?: readonly string[] | undefined;
  readonly onTimeout: OnTimeout;
  readonly editable: boolean;
  readonly status: ApprovalStatus;
  readonly votes: readonly Vote[];
  readonly endedAt?: number | undefined;
  readonly outcome?: ApprovalOutcome | undefined;
  /** When people were last told. */
  readonly told?: number | undefined;
  /** How many reminders were due so far. */
  readonly reminders?: number | undefined;
  readonly escalatedAt?: number | undefined;
  /** What people must still be told, how often that was tried, and when it is tried again. */
  readonly tell?: NotificationKind | undefined;
  readonly tellTries?: number | undefined;
  readonly tellAt?: number | undefined;
  readonly withdrawnBecause?: string | undefined;
}

/** A new approval, of which people must be told at once. */
export function newApproval(
  request: Pick<ApprovalMeta, 'agent' | 'name' | 'ask' | 'shown'>,
  terms: ApprovalTerms,
  now: number,
): ApprovalMeta {
  const deadline = terms.timeoutMs === undefined ? undefined : now + terms.timeoutMs;
  return { ...request, ...terms, askedAt: now, deadline, status: 'PENDING', votes: [], tell: 'asked', tellAt: now };
}

/** How somebody may answer: by name, through one of their groups, or not at all. */
export function matchApprover(
  { approvers }: Pick<ApprovalMeta, 'approvers'>,
  by: string,
  groups: readonly string[] = [],
): { readonly as?: string } | undefined {
  // Nobody is a group: who says so wants to answer for all of it.
  if (isGroup(by)) return undefined;
  if (approvers.includes(by)) return {};
  const as = approvers.find((approver) => isGroup(approver) && groups.includes(approver));
  return as === undefined ? undefined : { as };
}

/**
 * The approval after an answer. One that was given before, or that is what came of it, leaves it as it is; any other
 * answer after that is refused, and so is one that is late.
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

const NO_PENDING_NOTIFICATION = { tell: undefined, tellTries: undefined, tellAt: undefined };

const endApproval = (
  meta: ApprovalMeta,
  end: Required<Pick<ApprovalMeta, 'status' | 'outcome' | 'endedAt'>>,
): ApprovalMeta => ({ ...meta, ...NO_PENDING_NOTIFICATION, ...end });

/** The approval as time alone made it: escalated or expired, though nobody may have written that yet. */
export function applyTimeouts(meta: ApprovalMeta, now: number): ApprovalMeta {
  const action = dueAction(meta, now);
  if (action === 'expire') return expire(meta, now);
  return action === 'escalate' ? escalate(meta, now) : meta;
}

/** What is to be done about an approval. */
export type DueAction = 'expire' | 'escalate' | 'remind' | 'tell';

/** What is due, the most urgent first; at its deadline, to the millisecond, an approval is over. */
export function dueAction(meta: ApprovalMeta, now: number): DueAction | undefined {
  return ACTIONS_BY_URGENCY.find((action) => actionDueAt(meta, action) <= now);
}

/** When somebody must look at the approval next; undefined when nobody has to. */
export function dueAt(meta: ApprovalMeta): number | undefined {
  const next = Math.min(...ACTIONS_BY_URGENCY.map((action) => actionDueAt(meta, action)));
  return next === Infinity ? undefined : next;
}

const ACTIONS_BY_URGENCY = ['expire', 'escalate', 'remind', 'tell'] as const satisfies readonly DueAction[];

function actionDueAt(meta: ApprovalMeta, action: DueAction): number {
  if (meta.status !== 'PENDING') return Infinity;
  const { askedAt, deadline = Infinity, remindAfterMs = Infinity, reminders = 0 } = meta;
  if (action === 'expire') return escalatesAtDeadline(meta) ? Infinity : deadline;
  if (action === 'escalate') return escalationDueAt(meta);
  if (action === 'remind') return askedAt + (reminders + 1) * remindAfterMs;
  return meta.tell === undefined ? Infinity : (meta.tellAt ?? askedAt);
}

/** Whether the deadline does not end the approval but brings in others. */
const escalatesAtDeadline = ({ onTimeout, escalatedAt }: ApprovalMeta): boolean =>
  onTimeout === 'escalate' && escalatedAt === undefined;

function escalationDueAt({
  escalateTo,
  escalatedAt,
  escalateAfterMs,
  askedAt,
  deadline,
  onTimeout,
}: ApprovalMeta): number {
  if (!escalateTo || escalatedAt !== undefined) return Infinity;
  if (escalateAfterMs !== undefined) return askedAt + escalateAfterMs;
  return onTimeout === 'escalate' ? (deadline ?? Infinity) : Infinity;
}

/** People are to be reminded; reminders that nobody sent in time are one. */
export function remind(meta: ApprovalMeta, now: number): ApprovalMeta {
  if (meta.status !== 'PENDING') return meta;
  const { askedAt, remindAfterMs, reminders = 0, tell } = meta;
  const due =
    remindAfterMs === undefined ? meta.reminders : Math.max(reminders, Math.floor((now - askedAt) / remindAfterMs));
  // Who was not told of the question yet is told of that.
  return tell === undefined ? { ...meta, reminders: due, tell: 'reminder', tellAt: now } : { ...meta, reminders: due };
}

/**
 * Others may answer too, and all are told. Where that happens at the deadline, it moves: from now on they have the whole
 * time once more.
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
    ...{ tell: 'escalation', tellTries: undefined, tellAt: now },
  };
}

/** Nobody decided in time. */
export function expire(meta: ApprovalMeta, now: number): ApprovalMeta {
  if (meta.status !== 'PENDING') return meta;
  const outcome = meta.onTimeout === 'escalate' ? 'reject' : meta.onTimeout;
  return endApproval(meta, { status: 'EXPIRED', outcome, endedAt: Math.min(meta.deadline ?? now, now) });
}

/** Nobody needs the answer any more; to a run that still waits it means no. */
export function withdraw(meta: ApprovalMeta, why: string, now: number): ApprovalMeta {
  if (meta.status !== 'PENDING') return meta;
  return { ...endApproval(meta, { status: 'WITHDRAWN', outcome: 'reject', endedAt: now }), withdrawnBecause: why };
}

const INITIAL_NOTIFY_DELAY_MS = 60_000;
const MAX_NOTIFY_DELAY_MS = 3_600_000;

/** Somebody begins to tell people; unless that is known to have worked, it is tried again, a little later each time. */
export function startNotifyAttempt(meta: ApprovalMeta, now: number): ApprovalMeta {
  const { tellTries = 0 } = meta;
  return {
    ...meta,
    tellTries: tellTries + 1,
    tellAt: now + Math.min(INITIAL_NOTIFY_DELAY_MS * 2 ** tellTries, MAX_NOTIFY_DELAY_MS),
  };
}

/** People were told this; what they must be told since then stays. */
export function markNotified(meta: ApprovalMeta, kind: NotificationKind, now: number): ApprovalMeta {
  return { ...meta, told: now, ...(meta.tell === kind && NO_PENDING_NOTIFICATION) };
}

/** Nobody is there to tell people, so they find the approval in their inbox. */
export const clearNotification = (meta: ApprovalMeta): ApprovalMeta => ({ ...meta, ...NO_PENDING_NOTIFICATION });

const formatTime = (time: number | undefined): string => (time === undefined ? 'before' : new Date(time).toISOString());

export const notAnApprover = ({ name }: Pick<ApprovalMeta, 'name'>, by: string): WaitstateError =>
  new WaitstateError(
    'NOT_AN_APPROVER',
    `"${by}" is not asked to decide "${name}", neither by name nor through a group. Ask one of its approvers.`,
  );

export const approvalExpired = ({ name, deadline }: ApprovalMeta): WaitstateError =>
  new WaitstateError(
    'APPROVAL_EXPIRED',
    `Approval "${name}" could be decided until ${formatTime(deadline)}; the answer came later and does not count.`,
  );

const approvalWithdrawn = ({ name, endedAt, withdrawnBecause }: ApprovalMeta): WaitstateError =>
  new WaitstateError(
    'APPROVAL_WITHDRAWN',
    `Approval "${name}" was withdrawn ${formatTime(endedAt)}: ${withdrawnBecause?.replace(/\.$/, '')}. No answer is needed any more.`,
  );

function approvalDecided({ name, votes, endedAt }: ApprovalMeta, earlierVote: Vote | undefined): WaitstateError {
  const { by, answer, at = endedAt } = earlierVote ?? votes.at(-1) ?? { by: 'somebody', answer: 'answer' };
  return new WaitstateError(
    'APPROVAL_DECIDED',
    `Approval "${name}": ${by} said ${answer} ${formatTime(at)}, and another answer cannot follow. Nothing was changed.`,
  );
}
