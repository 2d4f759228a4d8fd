import type { Context } from '../../checkpoints/engine.ts';
import { isUnreadable, mergeSorted, readObjectMeta, scanPages, toRunContext } from '../../checkpoints/engine.ts';
import { applyTimeouts } from '../../core/approval.ts';
import { isStorageError, isWaitstateError } from '../../core/errors.ts';
import { parsePartition } from '../../core/ids.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { approvalIdFromKey, inboxGroup } from '../../storage/keys.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import type { Log } from '../runtime.ts';
import { errorFields } from '../telemetry.ts';
import { findApproval } from './change.ts';
import { type ApprovalView, type Show, toApprovalView } from './view.ts';

/** How much of an inbox. */
export interface InboxOptions {
  /** At most so many. @default all */
  readonly limit?: number;
  /** Also what these groups are asked, such as `group:finance`. @default none */
  readonly groups?: readonly string[];
}

/**
 * The open approvals that a person can still answer, by name or through a group, oldest first and each once. Each is
 * read anew: a list may be behind. One that cannot be read is left out.
 */
export const inbox = (context: Context, approver: string, options?: InboxOptions): AsyncGenerator<ApprovalView> =>
  inboxAs(context, approver, toApprovalView, options);

/** The same, shown in another way; what is left out is logged. */
export async function* inboxAs<View>(
  context: Context,
  approver: string,
  show: Show<View>,
  { limit = Infinity, groups = [], log }: InboxOptions & { readonly log?: Log } = {},
): AsyncGenerator<View> {
  if (!(limit > 0)) throw invalidInput('`limit`', 'a number above 0', limit);
  const seen = new Set<string>();
  const entries = [...new Set([approver, ...groups])].map((name) => entriesOf(context, name));
  let given = 0;
  for await (const { partition, key } of mergeSorted(entries, askedAtOf)) {
    const id = approvalIdFromKey(key);
    const name = `${partition} ${id}`;
    if (id === undefined || seen.has(name)) continue;
    seen.add(name);
    const shown = await showPending(context, { partition, id }, show, { approver, log });
    if (shown === undefined) continue;
    yield shown;
    if (++given >= limit) return;
  }
}

const PAGE = 100;

const entriesOf = ({ records, tenant }: Context, approver: string): AsyncGenerator<StoredRecord> =>
  scanPages((from) => records.list('owner', inboxGroup(tenant, approver), { limit: PAGE, ...from }));

/** What cannot be read comes first, and is then left out. */
const askedAtOf = (entry: StoredRecord): number => {
  const meta = readObjectMeta(entry.meta);
  return isUnreadable(meta) ? 0 : Number(meta.askedAt);
};

/**
 * What is shown of an approval that is open and that this person did not answer yet; undefined of any other, of one that is
 * gone, as the list that named it may be behind, and of one that cannot be read: the others are not to wait for it.
 */
export async function showPending<View>(
  context: Context,
  { partition, id }: { readonly partition: string; readonly id: string },
  show: Show<View>,
  { approver, log }: { readonly approver?: string | undefined; readonly log?: Log | undefined },
): Promise<View | undefined> {
  const { tenant, run } = parsePartition(partition);
  try {
    const at = toRunContext(context, tenant, run);
    const found = await findApproval(at, id);
    const { status, votes } = applyTimeouts(found.approval.meta, at.now());
    return status === 'PENDING' && !votes.some(({ by }) => by === approver) ? await show(at, found) : undefined;
  } catch (error) {
    if (isWaitstateError(error, 'APPROVAL_NOT_FOUND', 'RUN_SHREDDED')) return undefined;
    if (!isWaitstateError(error) || isStorageError(error)) throw error;
    const about = { tenant, run, approval: id, ...errorFields(error) };
    log?.('warn', 'An approval cannot be read, and is left out of a list.', about);
    return undefined;
  }
}
