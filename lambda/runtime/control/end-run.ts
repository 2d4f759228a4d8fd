import type { HeadMeta, RunContext } from '../../checkpoints/engine.ts';
import { loadCheckpoint, retryOnConflict, StaleVersionError } from '../../checkpoints/engine.ts';
import { isWaitstateError } from '../../core/errors.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import { readApprovals, withdrawApprovalWrites } from '../approvals/approval-records.ts';
import { appendEntries, rawEntries } from '../journal/append-entries.ts';
import { needsCleanup } from '../journal/entries.ts';
import { wakeParentWrites } from '../wake/events.ts';
import { endedWork, hasSameApprovals, isLeased, NO_WORK, readyWork } from '../wake/work.ts';

/** How a run is ended from outside. */
export interface EndRunOptions {
  readonly ending: 'FAILED' | 'CANCELLED';
  readonly error: Error;
  /** That it does not get to its end by itself, so that nothing more is undone. */
  readonly forceEnd?: true;
}

/** What became of it, and the parent that waited for it. */
export interface EndedRun {
  readonly status: Status;
  readonly parent?: string;
}

/**
 * Ends a run from outside, in one transaction that takes the next version and withdraws its open approvals. What has
 * something to undo or children that work, or is running just now, becomes ENDING; whoever has it goes on from there.
 */
export async function endRun(at: RunContext, { ending, error, forceEnd: givesUp }: EndRunOptions): Promise<EndedRun> {
  return retryOnConflict(async () => {
    const loaded = await loadCheckpoint(at);
    const { status, work } = loaded.head.meta;
    if (hasEnded(status)) return { status };
    const isLive = isLeased(work, at.now());
    const isEnding = status === 'ENDING';
    // Who is on the way to the end stays on it, unless it never gets there; but a failure can still be cancelled.
    const isCancelled = ending === 'CANCELLED' && work?.ending !== 'CANCELLED';
    if (isEnding && (givesUp ? isLive : !isCancelled)) return { status };
    const undoes = !isEnding && rawEntries(loaded).some(([, entry]) => needsCleanup(entry));
    const next = isLive || undoes || (isEnding && !givesUp) ? 'ENDING' : ending;
    const approvals = work?.approvals ?? [];
    const sideWrites = [
      ...(await withdrawWritesById(at, approvals, `The run is ${ending}.`)),
      ...(next === 'ENDING' ? [] : await wakeParentWrites(at, work?.replyTo)),
    ];
    await appendEntries(at, loaded, {
      kind: 'cancel',
      status: next,
      entries: new Map([['@error', { kind: 'result', error: withoutPlace(error) }]]),
      sideWrites,
      head: (there) => {
        if (!hasSameApprovals(there.work, work)) throw staleHead(at, there);
        const before = { ...(there.work ?? NO_WORK), approvals: undefined, ending };
        if (isLive) return { work: { ...before, dueAt: before.lease?.until } };
        return { work: next === 'ENDING' ? readyWork(before, at.now()) : endedWork(before) };
      },
    }).catch((lost) => {
      // An approval was decided at this moment, or the parent moved: once more, on what is there now.
      throw lost instanceof ConditionFailedError
        ? new StaleVersionError(at.run, loaded.record.version, undefined)
        : lost;
    });
    return { status: next, ...(next !== 'ENDING' && omitUndefined({ parent: work?.replyTo })) };
  });
}

/** The writes that withdraw those of the approvals that are open. */
export async function withdrawWritesById(
  at: RunContext,
  ids: readonly string[],
  why: string,
): Promise<readonly Write[]> {
  if (ids.length === 0) return [];
  const writes = withdrawApprovalWrites(at, await readApprovals(at, ids), why);
  // A commit holds 100 writes. Places in inboxes that then stay are of approvals that are over, and not shown.
  return writes.length <= MAX_PENDING_APPROVALS ? writes : writes.filter((write) => 'put' in write);
}

/** How many approvals a run may have open, so that it can always be ended. */
export const MAX_PENDING_APPROVALS = 80;

const staleHead = (at: RunContext, head: HeadMeta) => new StaleVersionError(at.run, head.version, undefined);

/** An error of ours without where in this process it was made: that says nothing of the run, and whoever looks at it would see. */
function withoutPlace(error: Error): Error {
  if (isWaitstateError(error)) error.stack = `${error.name}: ${error.message}`;
  return error;
}
