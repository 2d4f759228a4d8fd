import { toRunContext } from '../../checkpoints/engine.ts';
import type { Runtime } from '../runtime.ts';
import { deliverIfReady } from '../wake/wake.ts';
import type { ApprovalView } from './view.ts';

/** Brings the run of an approval that has ended to a process, where somebody does that; gives the approval. */
export async function deliverDecided<A extends Pick<ApprovalView, 'tenant' | 'run' | 'status'>>(
  runtime: Runtime,
  approval: A,
): Promise<A> {
  const { tenant, run, status } = approval;
  if (status !== 'PENDING')
    await deliverIfReady(runtime, toRunContext(await runtime.contexts.forTenant(), tenant, run));
  return approval;
}
