import {
  type Context,
  isUnreadable,
  mergeSorted,
  type RunContext,
  readObjectMeta,
  scanPages,
  toRunContext,
} from '../../checkpoints/engine.ts';
import { type Approver, applyTimeouts, checkApprover } from '../../core/approval.ts';
import { hasVoted } from '../../core/approval-votes.ts';
import { isStorageError, isWaitstateError } from '../../core/errors.ts';
import { parsePartition } from '../../core/ids.ts';
import { isExcluded } from '../../core/requester.ts';
import { approvalIdFromKey, inboxGroup } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import type { Log } from '../runtime.ts';
import { errorFields } from '../telemetry.ts';
import { type FoundApproval, findApproval } from './find-approval.ts';

interface InboxOptions {
  /** The groups that the person belongs to, such as `group:finance`. @default none */
  readonly groups?: readonly string[] | undefined;
  /** Logs approvals that cannot be read. @default nothing is logged */
  readonly log?: Log | undefined;
}

/**
 * The pending approvals that a person has not voted on, by name or through a group, oldest first and each once. Every
 * approval is read again, because the index may be behind. Approvals that cannot be read are left out.
 */
export async function* inbox(
  context: Context,
  approver: Approver,
  { groups = [], log }: InboxOptions = {},
): AsyncGenerator<FoundApproval> {
  checkApprover('The owner of an inbox', approver);
  const seen = new Set<string>();
  const entries = [...new Set([approver, ...groups])].map((name) => inboxRecords(context, name));
  for await (const { partition, key } of mergeSorted(entries, readRequestedAt)) {
    const id = approvalIdFromKey(key);
    const name = `${partition} ${id}`;
    if (id === undefined || seen.has(name)) continue;
    seen.add(name);
    const found = await findPending(context, { partition, id }, log);
    if (!found) continue;
    const { meta } = found.approval;
    if (!hasVoted(meta, approver) && !isExcluded(meta, approver)) yield found;
  }
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
