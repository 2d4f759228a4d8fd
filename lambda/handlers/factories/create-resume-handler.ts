import type { HeadMeta } from '../../checkpoints/engine.ts';
import { isReady } from '../../runtime/wake/wake.ts';
import { isPermanent } from '../../storage/aws/classify-aws-error.ts';
import { type DeliveryOptions, deliverRun } from '../deliver.ts';
import {
  type BatchResponse,
  changedHeads,
  forEachChange,
  isRetryable,
  runIdsOf,
  type StreamEvent,
} from '../stream-records.ts';

/** Creates the stream handler that invokes the agent of each run that became ready. */
export const createResumeHandler =
  (options: DeliveryOptions) =>
  (event: StreamEvent): Promise<BatchResponse> =>
    options.telemetry.runInvocation(() =>
      forEachChange(event, options.telemetry, async (change) => {
        const heads = changedHeads(change);
        const ids = runIdsOf(change.after);
        if (!heads || !ids || !hasBecomeReady(heads.after, heads.before)) return;
        try {
          await deliverRun(options, { ...ids, agent: heads.after.agent });
        } catch (error) {
          // Other failures are counted, and the run is due: the sweeper retries, perhaps after another deployment.
          if (isRetryable(error) && !isPermanent(error)) throw error;
        }
      }),
    );

/** Whether a run is ready and was not ready in this status before, so that it has not been delivered. */
function hasBecomeReady(after: HeadMeta, before: HeadMeta | undefined): boolean {
  return isReady(after) && !(before?.status === after.status && isReady(before));
}
