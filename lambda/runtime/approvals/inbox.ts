import { besideMeta } from '../../checkpoints/beside.ts';
import type { Context, RunContext } from '../../checkpoints/context.ts';
import { pages } from '../../checkpoints/scan.ts';
import { asOf } from '../../core/approval.ts';
import { isHoldpointError } from '../../core/errors.ts';
import { idsOf } from '../../core/ids.ts';
import { refused } from '../../core/input.ts';
import type { StoredRecord } from '../../storage/ports.ts';
import { approvalIdOf, inboxGroup } from './approval-records.ts';
import { type FoundApproval, findApproval } from './change.ts';
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
  for await (const { partition, key } of merged(entries)) {
    const id = approvalIdOf(key);
    const name = `${partition} ${id}`;
    if (id === undefined || seen.has(name)) continue;
    seen.add(name);
    const at = { ...context, ...idsOf(partition), partition };
    const found = await findOpen(at, id, approver);
    if (!found) continue;
    yield await show(at, found);
    if (++given >= limit) return;
  }
}

const PAGE = 100;

const entriesOf = ({ records, tenant }: Context, approver: string): AsyncGenerator<StoredRecord> =>
  pages((from) => records.list('owner', inboxGroup(tenant, approver), { limit: PAGE, ...from }));

/** The approval, if this person can still answer it. */
async function findOpen(at: RunContext, id: string, approver: string): Promise<FoundApproval | undefined> {
  try {
    const found = await findApproval(at, id);
    const { status, votes } = asOf(found.approval.meta, at.now());
    return status === 'PENDING' && !votes.some(({ by }) => by === approver) ? found : undefined;
  } catch (error) {
    if (isHoldpointError(error, 'APPROVAL_NOT_FOUND') || isHoldpointError(error, 'RUN_SHREDDED')) return undefined;
    throw error;
  }
}

/** Several lists, each in the order of when was asked, as one in that order. */
async function* merged(lists: readonly AsyncGenerator<StoredRecord>[]): AsyncGenerator<StoredRecord> {
  const next = async (list: AsyncGenerator<StoredRecord>) => {
    const { value, done } = await list.next();
    return done ? [] : [{ list, record: value, askedAt: Number(besideMeta(value).askedAt) }];
  };
  let heads = (await Promise.all(lists.map(next))).flat();
  for (;;) {
    const [oldest, ...rest] = heads.toSorted((a, b) => a.askedAt - b.askedAt);
    if (!oldest) return;
    yield oldest.record;
    heads = [...rest, ...(await next(oldest.list))];
  }
}
