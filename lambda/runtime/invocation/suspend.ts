import { setImmediate as tick } from 'node:timers/promises';
import type { RuntimeMeta } from '../../checkpoints/engine.ts';
import { hasEnded } from '../../core/status.ts';
import { timesOutAt } from '../wake/work.ts';
import type { Lifetime } from './lifetime.ts';
import type { PendingWaits } from './pending-waits.ts';
import { type Suspension, suspendUntil, yieldToNextInvocation } from './suspension.ts';
import type { WriteQueue } from './write-queue.ts';
import type { RunWriter } from './writer.ts';

// How a run suspends, from `ctx.approval` to the write:
//
// 1. An operation that has to wait calls `PendingWaits.waitFor`, which queues what it records. For an approval that is
//    its journal entry and, in the same transaction, the record of the approval.
// 2. `writeQueued` takes everything that is queued. If the agent has nothing left to do but wait, `planSuspension` says
//    in which status the run suspends and when it is due.
// 3. `RunWriter.write` writes both in one transaction, conditional on the event count that this invocation has read.
// 4. If an event arrived in between, nothing was written: the event is read first, so that no run sleeps through it.

/** The part of an invocation that writing and suspending need. */
export interface SuspendableInvocation {
  readonly now: number;
  readonly work: RuntimeMeta;
  readonly queue: WriteQueue;
  readonly writer: RunWriter;
  readonly pendingWaits: PendingWaits;
  readonly lifetime: Lifetime;
  /** The version of the checkpoint that claimed the run. */
  readonly claimedVersion: number;
  readonly isOver: boolean;
  readonly isEnding: boolean;
  readonly hasReturned: boolean;
  /** Whether something is running that must complete before the run suspends. */
  readonly isBusy: boolean;
  /** Resumes the callers of `waitUntilIdle`; returns whether there were any. */
  releaseIdleWaiters(): boolean;
  /** The run was cancelled or has timed out, so it ends in another way than by its agent. */
  supersede(): void;
  endSuspended(suspension: Suspension): void;
}

/** Writes what is queued until nothing is left, and suspends the run when it has nothing to do but wait. */
export async function writeQueued(invocation: SuspendableInvocation): Promise<void> {
  const { queue, writer, pendingWaits } = invocation;
  for (;;) {
    // Results that complete together share one write, and the agent first gets as far as it can.
    await tick();
    if (invocation.isOver) return;
    const queued = queue.take();
    const suspension = queued.every(({ item }) => item.allowsSuspend) ? planSuspension(invocation) : undefined;
    const batch = queued.length === 0 && suspension ? queue.takeEvents() : queued;
    if (batch.length === 0 && !suspension) {
      queue.isBeingWritten = false;
      return;
    }
    const outcome = await writer.write(batch, suspension);
    if ('unwritten' in outcome) queue.putBack(outcome.unwritten);
    switch (outcome.result) {
      case 'written':
        if (batch.some(({ item }) => item.status && hasEnded(item.status))) return;
        break;
      case 'suspended':
        return invocation.endSuspended(outcome.suspension);
      case 'woken':
        writer.seenEventCount = outcome.eventCount;
        await pendingWaits.checkOutcomes();
        break;
      case 'stale':
        await continueAfterOthers(invocation);
        break;
      case 'partly written':
        break;
    }
  }
}

/** Continues after a checkpoint that somebody else appended, such as an operator's edit or a cancel. */
async function continueAfterOthers(invocation: SuspendableInvocation): Promise<void> {
  const { isCancelled } = await invocation.writer.catchUp();
  if (!isCancelled) return;
  invocation.supersede();
  invocation.queue.rejectStatusChanges();
}

/** How the run suspends now; undefined while it still has something to do in this process. */
function planSuspension(invocation: SuspendableInvocation): Suspension | undefined {
  const { claimedVersion, isEnding, pendingWaits, work, writer } = invocation;
  if (invocation.isBusy || invocation.isOver || invocation.releaseIdleWaiters()) return undefined;
  if (invocation.hasReturned && !isEnding) return undefined;
  if (invocation.lifetime.isYielding) {
    const { version } = writer.loaded.record;
    return yieldToNextInvocation(isEnding, () => invocation.now, { claims: work.claims, claimedVersion, version });
  }
  const { statuses, dueAt } = pendingWaits;
  if (statuses.length === 0) return undefined;
  // A wait is already due: there is no reason to suspend.
  if (dueAt <= invocation.now) {
    pendingWaits.checkOutcomesSoon();
    return undefined;
  }
  return suspendUntil(Math.min(dueAt, timesOutAt(writer.loaded.head.meta)), pendingWaits, isEnding);
}
