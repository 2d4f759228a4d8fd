import { deliver, type Runtime } from '../runtime.ts';
import { isReady } from '../wake/wake.ts';
import type { FoundApproval } from './find-approval.ts';

/** Delivers the run of an approval that has ended, if the run is ready; returns the approval. */
export async function deliverDecided<Found extends FoundApproval>(runtime: Runtime, found: Found): Promise<Found> {
  const { at, approval, head } = found;
  if (approval.meta.status !== 'PENDING' && isReady(head))
    await deliver(runtime, { tenant: at.tenant, run: at.run, agent: head.agent });
  return found;
}
