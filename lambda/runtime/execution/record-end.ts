import { withdrawWritesById } from '../control/end-run.ts';
import type { BatchItem } from '../invocation/batch.ts';
import type { Invocation } from '../invocation/invocation.ts';
import { lastDecision } from '../journal/last-decision.ts';
import { wakeParentWrites } from '../wake/events.ts';
import { endedWork } from '../wake/work.ts';

/** Writes the last checkpoint of a run: pending approvals are withdrawn and the parent is woken in the same write. */
export async function recordEnd(invocation: Invocation, item: BatchItem): Promise<void> {
  const { at, journal, work } = invocation;
  const { meta } = invocation.writer.loaded.head;
  const decision = lastDecision(journal) ?? work.decision;
  const { outcomeOf } = await import('../journal/outcome.ts');
  const outcome = outcomeOf(item.entries ?? [], meta, { partition: at.partition, decision });
  invocation.pendingWaits.stopAll();
  await invocation.record({
    ...item,
    sideWrites: async () => [
      ...(await withdrawWritesById(at, invocation.work.approvals ?? [], 'The run has ended.')),
      ...(await wakeParentWrites(at, invocation.work.replyTo)),
    ],
    work: (current) => ({ ...endedWork(current), decision: undefined, outcome }),
  });
}
