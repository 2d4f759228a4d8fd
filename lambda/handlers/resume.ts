import type { HeadMeta } from '../checkpoints/engine.ts';
import { isReady } from '../runtime/wake/wake.ts';
import { isPermanent } from '../storage/aws/classify-aws-error.ts';
import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import { lambdaFunctions } from './agent-functions.ts';
import { type DeliveryOptions, deliverRun } from './deliver.ts';
import { contextFactoryFrom, lazyHandler } from './lazy-handler.ts';
import { powertoolsTelemetry } from './powertools.ts';
import {
  type BatchResponse,
  changedHeads,
  forEachChange,
  isRetryable,
  runIdsOf,
  type StreamEvent,
} from './stream-records.ts';

/** The function on the table's stream that invokes the agent of each run that has become ready. */
export const createResumeHandler =
  (delivering: DeliveryOptions) =>
  (event: StreamEvent): Promise<BatchResponse> =>
    delivering.telemetry.traceInvocation(() =>
      forEachChange(event, delivering.telemetry, async (change) => {
        const heads = changedHeads(change);
        const ids = runIdsOf(change.after);
        if (!heads || !ids || !hasBecomeReady(heads.now, heads.before)) return;
        try {
          await deliverRun(delivering, { ...ids, agent: heads.now.agent });
        } catch (error) {
          // It is counted, and due: the sweeper tries again, perhaps after another deployment.
          if (isRetryable(error) && !isPermanent(error)) throw error;
        }
      }),
    );

/** Whether somebody should run it, and nobody has been told. */
function hasBecomeReady(now: HeadMeta, before: HeadMeta | undefined): boolean {
  return isReady(now) && !(before?.status === now.status && isReady(before));
}

export const handler = lazyHandler('resume', (environment) =>
  createResumeHandler({
    contexts: contextFactoryFrom(environment),
    agents: environment.agents,
    functions: lambdaFunctions(),
    signedUrls: s3SignedUrls(environment),
    telemetry: powertoolsTelemetry('resume', environment),
  }),
);
