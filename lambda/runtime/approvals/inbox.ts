import { besideMeta } from '../../checkpoints/beside.ts';
import type { Context, RunContext } from '../../checkpoints/context.ts';
import { merged } from '../../checkpoints/lists.ts';
import { runAt } from '../../checkpoints/other-contexts.ts';
import { pages } from '../../checkpoints/scan.ts';
import { asOf } from '../../core/approval.ts';
import { isHoldpointError } from '../../core/errors.ts';
import { idsOf } from '../../core/ids.ts';
import { refused } from '../../core/input.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import { approvalIdOf, inboxGroup } from './approval-records.ts';
import { findApproval } from './change.ts';
import { type ApprovalView, type Show, viewOf } from './view.ts';

/** How much of an inbox. */
export interface InboxOptions {
  /** At most so many. @default all */
  readonly limit?: number;
  /** Also what these groups are asked, such as `group:finance`. @default none */
  readonly groups?: readonly string[];
}

/**
 * The open approvals that a person can still answer, by name or through a group, oldest first and each once. Each is
 * read anew: a list may be behind.
 */
export const inbox = (context: Context, approver: string, options?: InboxOptions): AsyncGenerator<ApprovalView> =>
  inboxAs(context, approver, viewOf, options);

/** The same, shown in another way. */
export async function* inboxAs<View>(
  context: Context,
  approver: string,
  show: Show<View>,
  { limit = Infinity, groups = [] }: InboxOptions = {},
): AsyncGenerator<View> {
  if (!(limit > 0)) throw refused('`limit`', 'a number above 0', limit);
  const seen = new Set<string>();
  const entries = [...new Set([approver, ...groups])].map((name) => entriesOf(context, name));
  let given = 0;
  for await (const { partition, key } of merged(entries, askedAtOf)) {
    const id = approvalIdOf(key);
    const name = `${partition} ${id}`;
    if (id === undefined || seen.has(name)) continue;
    seen.add(name);
    const { tenant, run } = idsOf(partition);
    const shown = await showOpen(runAt(context, tenant, run), id, show, approver);
    if (shown === undefined) continue;
    yield shown;
    if (++given >= limit) return;
  }
}

const PAGE = 100;

const entriesOf = ({ records, tenant }: Context, approver: string): AsyncGenerator<StoredRecord> =>
  pages((from) => records.list('owner', inboxGroup(tenant, approver), { limit: PAGE, ...from }));

const askedAtOf = (entry: StoredRecord): number => Number(besideMeta(entry).askedAt);

/**
 * What is shown of an approval that is open and that this person did not answer yet; undefined of any other, and of one
 * that is gone or that nobody can read any more: the list that named it may be behind.
 */
export async function showOpen<View>(
  at: RunContext,
  id: string,
  show: Show<View>,
  approver?: string,
): Promise<View | undefined> {
  try {
    const found = await findApproval(at, id);
    const { status, votes } = asOf(found.approval.meta, at.now());
    return status === 'PENDING' && !votes.some(({ by }) => by === approver) ? await show(at, found) : undefined;
  } catch (error) {
    if (isHoldpointError(error, 'APPROVAL_NOT_FOUND', 'RUN_SHREDDED')) return undefined;
    throw error;
  }
}
