import type { ContextFactory } from '../checkpoints/engine.ts';
import { toRunContext } from '../checkpoints/engine.ts';
import { isWaitstateError } from '../core/errors.ts';
import { hasEnded, type Status } from '../core/status.ts';
import { readApprovalMeta } from '../runtime/approvals/approval-meta.ts';
import { processDueApproval } from '../runtime/approvals/due.ts';
import type { Metric } from '../runtime/telemetry.ts';
import { APPROVAL_KEY_PREFIX, approvalIdFromKey } from '../storage/keys.ts';
import { lambdaFunctions } from './agent-functions.ts';
import { contextFactoryFrom, lazyHandler } from './lazy-handler.ts';
import { type NotifierOptions, notifierFor } from './notifier.ts';
import { powertoolsTelemetry } from './powertools.ts';
import { publishEvents } from './publish-events.ts';
import {
  type BatchResponse,
  type Change,
  changedHeads,
  forEachChange,
  runIdsOf,
  type StreamEvent,
} from './stream-records.ts';

export interface NotifyHandlerOptions extends NotifierOptions {
  readonly contexts: ContextFactory;
}

/** The function on the table's stream that tells people of approvals, and everybody of runs that have ended. */
export const createNotifyHandler =
  (notifying: NotifyHandlerOptions) =>
  (event: StreamEvent): Promise<BatchResponse> =>
    notifying.telemetry.traceInvocation(() =>
      forEachChange(event, notifying.telemetry, async (change) => {
        await tellOfApproval(notifying, change);
        await tellOfEnd(notifying, change);
      }),
    );

async function tellOfApproval({ contexts, ...options }: NotifyHandlerOptions, { after: now }: Change): Promise<void> {
  const ids = runIdsOf(now);
  const id = now.key.startsWith(APPROVAL_KEY_PREFIX) ? approvalIdFromKey(now.key) : undefined;
  if (!ids || id === undefined) return;
  const { status, agent, tell, tellTries = 0, tellAt = 0 } = readApprovalMeta(now);
  const at = toRunContext(await contexts.forTenant(), ids.tenant, ids.run);
  // Somebody is telling them; unless that works, it is due again later.
  const isUnderWay = tellTries > 0 && tellAt > at.now();
  if (status !== 'PENDING' || tell === undefined || isUnderWay) return;
  try {
    await processDueApproval(at, id, notifierFor(options, ids.tenant, agent));
  } catch (error) {
    // The agent's own function failed. It is counted, and due again later.
    if (!isWaitstateError(error, 'STEP_FAILED', 'TIMED_OUT')) throw error;
  }
}

/** How an end is announced, and counted. */
const ENDS: Readonly<Partial<Record<Status, { readonly type: string; readonly metric: Metric }>>> = {
  SUCCEEDED: { type: 'Run Succeeded', metric: 'RunSucceeded' },
  FAILED: { type: 'Run Failed', metric: 'RunFailed' },
  CANCELLED: { type: 'Run Cancelled', metric: 'RunCancelled' },
};

async function tellOfEnd({ publish: announce, telemetry }: NotifyHandlerOptions, change: Change): Promise<void> {
  const heads = changedHeads(change);
  const ids = runIdsOf(change.after);
  const end = heads && ENDS[heads.now.status];
  if (!heads || !ids || !end) return;
  const { status, agent, version } = heads.now;
  if (heads.before && hasEnded(heads.before.status)) return;
  await announce?.({ type: end.type, detail: { ...ids, agent, status, version } });
  // Last: a record that fails comes again.
  telemetry.count(end.metric);
}

export const handler = lazyHandler('notify', (environment) =>
  createNotifyHandler({
    contexts: contextFactoryFrom(environment),
    agents: environment.agents,
    functions: lambdaFunctions(),
    publish: publishEvents(environment),
    approvalUrl: environment.approvalUrl,
    telemetry: powertoolsTelemetry('notify', environment),
  }),
);
