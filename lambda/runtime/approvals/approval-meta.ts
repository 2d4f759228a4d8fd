import { damagedError, sideMeta } from '../../checkpoints/engine.ts';
import { APPROVAL_STATUSES, type ApprovalMeta, type Vote } from '../../core/approval.ts';
import { ON_TIMEOUT_ACTIONS } from '../../core/approval-request.ts';
import { parsePartition } from '../../core/ids.ts';
import type { StoredRecord } from '../../storage/ports.ts';

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isName: Check = (value) => isText(value) && value !== '';
const isMoment: Check = (value) => Number.isFinite(value);
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0;
const isOneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const isListOf =
  (is: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(is);
const may =
  (is: Check): Check =>
  (value) =>
    value === undefined || is(value);
const haveAll = (checks: Readonly<Record<string, Check>>, value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(checks).every(([field, is]) => is((value as Record<string, unknown>)[field]));

const VOTE: Readonly<Record<keyof Vote, Check>> = {
  by: isName,
  as: may(isName),
  answer: isOneOf('approve', 'reject'),
  at: isMoment,
  said: may(isText),
};

const APPROVAL: Readonly<Record<keyof ApprovalMeta, Check>> = {
  agent: may(isText),
  name: isText,
  ask: isCount,
  shown: isName,
  approvers: (value) => isListOf(isName)(value) && Object(value).length > 0,
  quorum: (value) => isCount(value) && Number(value) > 0,
  askedAt: isMoment,
  deadline: may(isMoment),
  timeoutMs: may(isMoment),
  remindAfterMs: may((value) => isMoment(value) && Number(value) > 0),
  escalateAfterMs: may(isMoment),
  escalateTo: may(isListOf(isName)),
  onTimeout: isOneOf(...ON_TIMEOUT_ACTIONS),
  editable: isOneOf(true, false),
  status: isOneOf(...APPROVAL_STATUSES),
  votes: isListOf((vote) => haveAll(VOTE, vote)),
  endedAt: may(isMoment),
  outcome: may(isOneOf('approve', 'reject', 'fail')),
  told: may(isMoment),
  reminders: may(isCount),
  escalatedAt: may(isMoment),
  tell: may(isOneOf('asked', 'reminder', 'escalation')),
  tellTries: may(isCount),
  tellAt: may(isMoment),
  withdrawnBecause: may(isText),
};

/** The readable part of an approval; refuses one that is not whole, or that says it ended and not how. */
export function readApprovalMeta(stored: StoredRecord): ApprovalMeta {
  const meta = sideMeta(stored);
  const wrong = Object.keys(APPROVAL).find((field) => !APPROVAL[field as keyof ApprovalMeta](meta[field]));
  if (wrong !== undefined) throw damagedApproval(stored, `its field "${wrong}" is not what it can be`);
  const known = Object.entries(meta).filter(([field]) => Object.hasOwn(APPROVAL, field));
  const read = Object.fromEntries(known) as unknown as ApprovalMeta;
  const open = read.status === 'PENDING';
  if (open !== (read.outcome === undefined) || open !== (read.endedAt === undefined))
    throw damagedApproval(stored, `it is ${read.status}, and its outcome ${read.outcome}`);
  return read;
}

/** The error for an approval that is not what was written. */
export const damagedApproval = (
  { partition, key }: Pick<StoredRecord, 'partition' | 'key'>,
  why: string,
  cause?: unknown,
) => damagedError(`Approval record ${key} of run "${parsePartition(partition).run}"`, why, cause);
