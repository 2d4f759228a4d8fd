import { damagedError, sideMeta } from '../../checkpoints/engine.ts';
import { APPROVAL_STATUSES, type ApprovalMeta, type Vote, type VoteDelegation } from '../../core/approval.ts';
import { ON_TIMEOUT_ACTIONS } from '../../core/approval-request.ts';
import { parsePartition } from '../../core/ids.ts';
import type { StoredRecord } from '../../storage/ports.ts';

type Check = (value: unknown) => boolean;

/** An approval and its record. */
export interface Approval {
  readonly id: string;
  readonly meta: ApprovalMeta;
  readonly stored: StoredRecord;
}

const isText: Check = (value) => typeof value === 'string';
const isNonEmptyText: Check = (value) => isText(value) && value !== '';
const isTimestamp: Check = (value) => Number.isFinite(value);
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isOneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const isListOf =
  (is: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(is);
const optional =
  (is: Check): Check =>
  (value) =>
    value === undefined || is(value);
const passesAll = (checks: Readonly<Record<string, Check>>, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(checks).every(([field, is]) => is((value as Record<string, unknown>)[field]));

const DELEGATION_CHECKS: Readonly<Record<keyof VoteDelegation, Check>> = {
  from: isTimestamp,
  until: isTimestamp,
  createdBy: isNonEmptyText,
  createdAt: isTimestamp,
};

const VOTE_CHECKS: Readonly<Record<keyof Vote, Check>> = {
  by: isNonEmptyText,
  for: optional(isNonEmptyText),
  delegation: optional((value) => passesAll(DELEGATION_CHECKS, value)),
  as: optional(isNonEmptyText),
  answer: isOneOf('approve', 'reject'),
  at: isTimestamp,
  content: optional(isText),
  proposal: optional(isNonEmptyText),
  proposes: optional(isOneOf(true)),
  membership: optional(isOneOf('stated')),
};

const APPROVAL_CHECKS: Readonly<Record<keyof ApprovalMeta, Check>> = {
  agent: optional(isText),
  name: isText,
  requestNumber: isCount,
  contentHash: isNonEmptyText,
  approvers: (value) => isListOf(isNonEmptyText)(value) && Object(value).length > 0,
  quorum: (value) => isCount(value) && Number(value) > 0,
  requestedAt: isTimestamp,
  deadline: optional(isTimestamp),
  timeoutMs: optional(isTimestamp),
  remindAfterMs: optional((value) => isTimestamp(value) && Number(value) > 0),
  escalateAfterMs: optional(isTimestamp),
  escalateTo: optional(isListOf(isNonEmptyText)),
  onTimeout: isOneOf(...ON_TIMEOUT_ACTIONS),
  editable: isOneOf(true, false),
  question: optional(isOneOf(true)),
  openGroups: optional(isOneOf(true)),
  requestedBy: optional(isNonEmptyText),
  excludeRequester: optional(isOneOf(true)),
  members: optional(isText),
  status: isOneOf(...APPROVAL_STATUSES),
  votes: isListOf((vote) => passesAll(VOTE_CHECKS, vote)),
  endedAt: optional(isTimestamp),
  outcome: optional(isOneOf('approve', 'reject', 'fail')),
  notifiedAt: optional(isTimestamp),
  reminders: optional(isCount),
  escalatedAt: optional(isTimestamp),
  pendingNotification: optional(isOneOf('requested', 'proposed', 'reminder', 'escalated')),
  notifyAttempts: optional(isCount),
  notifyAt: optional(isTimestamp),
  withdrawalReason: optional(isText),
};

/** The unencrypted fields of an approval; throws DAMAGED if one is malformed, or if status and outcome disagree. */
export function readApprovalMeta(stored: StoredRecord): ApprovalMeta {
  const meta = sideMeta(stored);
  const wrong = Object.keys(APPROVAL_CHECKS).find(
    (field) => !APPROVAL_CHECKS[field as keyof ApprovalMeta](meta[field]),
  );
  if (wrong !== undefined) throw damagedApproval(stored, `its field "${wrong}" is missing or malformed`);
  const known = Object.entries(meta).filter(([field]) => Object.hasOwn(APPROVAL_CHECKS, field));
  const read = Object.fromEntries(known) as unknown as ApprovalMeta;
  const isPending = read.status === 'PENDING';
  if (isPending !== (read.outcome === undefined) || isPending !== (read.endedAt === undefined))
    throw damagedApproval(stored, `its status is ${read.status}, but its outcome is ${read.outcome}`);
  return read;
}

/** The error for an approval whose record is damaged. */
export const damagedApproval = (
  { partition, key }: Pick<StoredRecord, 'partition' | 'key'>,
  why: string,
  cause?: unknown,
) => damagedError(`Approval record ${key} of run "${parsePartition(partition).run}"`, why, cause);
