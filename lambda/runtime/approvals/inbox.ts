import {
  type Context,
  isUnreadable,
  mergeSorted,
  type RunContext,
  readObjectMeta,
  scanPages,
  toRunContext,
} from '../../checkpoints/engine.ts';
import { type Approver, applyTimeouts, checkApprover, type Person } from '../../core/approval.ts';
import { groupsOf, hasVoted, matchApprover } from '../../core/approval-votes.ts';
import type { Delegation } from '../../core/delegation.ts';
import { isStorageError, isWaitstateError } from '../../core/errors.ts';
import { parsePartition } from '../../core/ids.ts';
import { isExcluded } from '../../core/requester.ts';
import { approvalIdFromKey, inboxGroup } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import type { Log } from '../runtime.ts';
import { errorFields } from '../telemetry.ts';
import { isDelegationRecord } from './delegation-record.ts';
import { activeDelegations } from './delegations.ts';
import { type FoundApproval, findApproval } from './find-approval.ts';
import { readMembers } from './group-members.ts';

interface InboxOptions {
  /** The groups that the person belongs to, such as `group:finance`. @default none */
  readonly groups?: readonly string[] | undefined;
  /** Logs approvals that cannot be read. @default nothing is logged */
  readonly log?: Log | undefined;
}

/**
 * The pending approvals that a person has not voted on, oldest first and each once: by name, through a group, or for
 * someone who delegated it to them (`for`). Every approval is read again, because the index may be behind. Approvals that
 * cannot be read are left out.
 */
export async function* inbox(
  context: Context,
  approver: Approver,
  { groups = [], log }: InboxOptions = {},
): AsyncGenerator<FoundApproval> {
  checkApprover('The owner of an inbox', approver);
  const own = inboxRecords(context, approver);
  const { delegations, next } = await takeDelegations(context, own);
  const ownNames = [...new Set([approver, ...groups])];
  const others = delegations.flatMap((each) => [each.person, ...(each.groups ?? [])]);
  const otherNames = [...new Set(others)].filter((name) => !ownNames.includes(name));
  const lists = [...ownNames.slice(1), ...otherNames].map((name) => inboxRecords(context, name));
  const seen = new Set<string>();
  for await (const { partition, key } of mergeSorted([prepend(next, own), ...lists], readRequestedAt)) {
    // Undefined for a delegation to someone else, which is not passed on.
    const id = approvalIdFromKey(key);
    const name = `${partition} ${id}`;
    if (id === undefined || seen.has(name)) continue;
    seen.add(name);
    const found = await findPending(context, { partition, id }, log);
    if (!found) continue;
    const { meta } = found.approval;
    if (hasVoted(meta, approver) || isExcluded(meta, approver)) continue;
    if (meta.approvers.some((each) => ownNames.includes(each))) yield found;
    else {
      const person = await skipUnreadable(findDelegator(found, delegations), found, log);
      if (person) yield { ...found, for: person };
    }
  }
}

/** The delegations at the start of an inbox that hold now, and the first record after them. */
async function takeDelegations(
  context: Context,
  records: AsyncGenerator<StoredRecord>,
): Promise<{ readonly delegations: readonly Delegation[]; readonly next: StoredRecord | undefined }> {
  const stored: StoredRecord[] = [];
  for (;;) {
    const { value, done } = await records.next();
    if (!done && isDelegationRecord(context, value)) stored.push(value);
    else return { delegations: activeDelegations(context, stored), next: done ? undefined : value };
  }
}

async function* prepend<T>(first: T | undefined, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  if (first !== undefined) yield first;
  yield* rest;
}

/** The first of the people who delegated to the owner of the inbox who could vote: by name, or as a known member. */
async function findDelegator(
  { at, approval, cipher }: FoundApproval,
  delegations: readonly Delegation[],
): Promise<Person | undefined> {
  const { meta } = approval;
  const members = meta.members === undefined ? {} : readMembers(at, await cipher(), approval);
  return delegations.find(
    ({ person }) =>
      matchApprover(meta, person, groupsOf(members, person)) && !isExcluded(meta, person) && !hasVoted(meta, person),
  )?.person;
}

const PAGE_SIZE = 100;

const inboxRecords = ({ records, tenant }: Context, approver: string): AsyncGenerator<StoredRecord> =>
  scanPages((from) => records.list('owner', inboxGroup(tenant, approver), { limit: PAGE_SIZE, ...from }));

/** When an approval was requested; unreadable entries come first, and are then left out. */
const readRequestedAt = (entry: StoredRecord): number => {
  const meta = readObjectMeta(entry.meta);
  return isUnreadable(meta) ? 0 : Number(meta.requestedAt);
};

/** Finds an approval that an index lists; undefined when it has ended, is gone or cannot be read. */
export async function findPending(
  context: Context,
  { partition, id }: { readonly partition: string; readonly id: string },
  log?: Log,
): Promise<FoundApproval | undefined> {
  const { tenant, run } = parsePartition(partition);
  const at = toRunContext(context, tenant, run);
  const found = await skipUnreadable(findApproval(at, id), { at, approval: { id } }, log);
  return found && applyTimeouts(found.approval.meta, at.now()).status === 'PENDING' ? found : undefined;
}

/** The result of reading an approval for a list; undefined when it is gone or damaged, so that the others are listed. */
export async function skipUnreadable<T>(
  reading: Promise<T>,
  { at: { tenant, run }, approval }: { readonly at: RunContext; readonly approval: { readonly id: string } },
  log?: Log,
): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isWaitstateError(error, 'APPROVAL_NOT_FOUND', 'RUN_SHREDDED')) return undefined;
    if (!isWaitstateError(error) || isStorageError(error)) throw error;
    const fields = { tenant, run, approval: approval.id, ...errorFields(error) };
    log?.('warn', 'An approval cannot be read, and is left out of a list.', fields);
    return undefined;
  }
}
