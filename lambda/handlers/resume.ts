import type { HeadMeta } from '../checkpoints/format/meta.ts';
import { isReady } from '../runtime/control/wake.ts';
import { isInVain } from '../storage/aws/aws-failures.ts';
import { s3SignedUrls } from '../storage/s3/signed-urls.ts';
import { lambdaFunctions } from './agent-functions.ts';
import { type Delivering, deliverRun } from './deliver.ts';
import { contextsOf, wired } from './lazy-handler.ts';
import { observingOf } from './powertools.ts';
import { type BatchResponse, eachChange, headsOf, mayDoBetter, runOf, type StreamEvent } from './stream-records.ts';

/** The function on the table's stream that invokes the agent of each run that has become ready. */
export const createResume =
  (delivering: Delivering) =>
  (event: StreamEvent): Promise<BatchResponse> =>
    delivering.observing.invocation(() =>
      eachChange(event, delivering.observing, async (change) => {
        const heads = headsOf(change);
        const ids = runOf(change.now);
        if (!heads || !ids || !hasBecomeReady(heads.now, heads.before)) return;
        try {
          await deliverRun(delivering, { ...ids, agent: heads.now.agent });
        } catch (error) {
          // It is counted, and due: the sweeper tries again, perhaps after another deployment.
          if (mayDoBetter(error) && !isInVain(error)) throw error;
        }
      }),
    );

/** Whether somebody should run it, and nobody has been told. */
function hasBecomeReady(now: HeadMeta, before: HeadMeta | undefined): boolean {
  return isReady(now) && !(before?.status === now.status && isReady(before));
}

export const handler = wired('resume', (environment) =>
  createResume({
    contexts: contextsOf(environment),
    agents: environment.agents,
    functions: lambdaFunctions(),
    signedUrls: s3SignedUrls(environment),
    observing: observingOf('resume', environment),
  }),
);
