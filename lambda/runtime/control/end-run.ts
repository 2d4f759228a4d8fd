import {
  type HeadMeta,
  loadCheckpoint,
  type RunContext,
  retryOnConflict,
  StaleVersionError,
} from '../../checkpoints/engine.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import { appendEntries, rawEntries } from '../journal/append-entries.ts';
import { ENDED_LABEL } from '../journal/checkpoint-labels.ts';
import { needsCleanup } from '../journal/entries.ts';
import { wakeParentWrites } from '../wake/events.ts';
import { endedWork, hasSameApprovals, isLeased, NO_WORK, readyWork } from '../wake/work.ts';

/** How to end a run from outside its agent. */
export interface EndRunOptions {
  readonly ending: 'FAILED' | 'CANCELLED';
  readonly error: Error;
  /** Ends a run that is ENDING and cannot complete its undo: no further step is undone. */
  readonly forceEnd?: true;
}

/** The status of the run afterwards, and the parent run that waits for it. */
export interface EndedRun {
  readonly status: Status;
  readonly parent?: string;
}

/**
 * Ends a run from outside, in one transaction that appends a checkpoint and withdraws its pending approvals. A run that
 * is running, has steps to undo or has unfinished children becomes ENDING; the invocation that claims it completes the
 * rest.
 */
export async function endRun(at: RunContext, { ending, error, forceEnd }: EndRunOptions): Promise<EndedRun> {
  return retryOnConflict(async () => {
    const loaded = await loadCheckpoint(at);
    const { status, work } = loaded.head.meta;
    if (hasEnded(status)) return { status };
    const isLeasedNow = isLeased(work, at.now());
    const isEnding = status === 'ENDING';
    // A run that is ENDING stays so, unless it is forced to end; a run that is failing can still be cancelled.
    const isCancelled = ending === 'CANCELLED' && work?.ending !== 'CANCELLED';
    if (isEnding && (forceEnd ? isLeasedNow : !isCancelled)) return { status };
    const needsUndo = !isEnding && rawEntries(loaded).some(([, entry]) => needsCleanup(entry));
    const nextStatus = isLeasedNow || needsUndo || (isEnding && !forceEnd) ? 'ENDING' : ending;
    const approvals = work?.approvals ?? [];
    const sideWrites = [
      ...(await withdrawWritesById(at, approvals, `The run is ${ending}.`)),
      ...(nextStatus === 'ENDING' ? [] : await wakeParentWrites(at, work?.replyTo)),
    ];
    const { outcomeOf } = await import('../journal/outcome.ts');
    await appendEntries(at, loaded, {
      kind: 'cancel',
      status: nextStatus,
      labels: { [ENDED_LABEL]: isWaitstateError(error) ? error.code : 'FAILED' },
      entries: new Map([['@error', { kind: 'result', error: withoutStack(error) }]]),
      sideWrites,
      head: (current) => {
        if (!hasSameApprovals(current.work, work)) throw staleHead(at, current);
        const outcome = outcomeOf([['@error', { kind: 'result', error }]], current, {
          partition: at.partition,
          decision: current.work?.decision,
        });
        const nextWork = { ...(current.work ?? NO_WORK), approvals: undefined, ending, outcome };
        if (isLeasedNow) return { work: { ...nextWork, dueAt: nextWork.lease?.until } };
        return { work: nextStatus === 'ENDING' ? readyWork(nextWork, at.now()) : endedWork(nextWork) };
      },
    }).catch((failure) => {
      // An approval was decided or the parent's head changed meanwhile: retry with the current records.
      throw failure instanceof ConditionFailedError
        ? new StaleVersionError(at.run, loaded.record.version, undefined)
        : failure;
    });
    return { status: nextStatus, ...(nextStatus !== 'ENDING' && omitUndefined({ parent: work?.replyTo })) };
  });
}

/** Fails a run that exceeded its timeout. */
export const timeOutRun = (at: RunContext): Promise<EndedRun> =>
  endRun(at, {
    ending: 'FAILED',
    error: new WaitstateError('TIMED_OUT', `Run "${at.run}" took longer than its timeout.`, { scope: 'run' }),
  });

/** The writes that withdraw those of the given approvals that are still pending. */
export async function withdrawWritesById(
  at: RunContext,
  ids: readonly string[],
  reason: string,
): Promise<readonly Write[]> {
  if (ids.length === 0) return [];
  const { readApprovals, withdrawApprovalWrites } = await import('../approvals/approval-records.ts');
  const writes = withdrawApprovalWrites(at, await readApprovals(at, ids), reason);
  // A commit is limited to 100 writes. Inbox entries that remain belong to approvals that have ended, and are not
  // shown.
  return writes.length <= MAX_PENDING_APPROVALS ? writes : writes.filter((write) => 'put' in write);
}

/** The maximum number of pending approvals of a run: one transaction must be able to withdraw all of them. */
export const MAX_PENDING_APPROVALS = 80;

const staleHead = (at: RunContext, head: HeadMeta) => new StaleVersionError(at.run, head.version, undefined);

/** Removes the stack of a Waitstate error: it describes the process that ended the run, not the run. */
function withoutStack(error: Error): Error {
  if (isWaitstateError(error)) error.stack = `${error.name}: ${error.message}`;
  return error;
}
