import { type ContextFactory, toRunContext } from '../../checkpoints/engine.ts';
import { isWaitstateError } from '../../core/errors.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import { readApprovalMeta } from '../../runtime/approvals/approval-meta.ts';
import { processDueApproval } from '../../runtime/approvals/due.ts';
import { errorFields, type Metric } from '../../runtime/telemetry.ts';
import { APPROVAL_KEY_PREFIX, approvalIdFromKey } from '../../storage/keys.ts';
import { type NotifierOptions, notifierFor } from '../notifier.ts';
import {
  type BatchResponse,
  type Change,
  changedHeads,
  forEachChange,
  isRetryable,
  runIdsOf,
  type StreamEvent,
} from '../stream-records.ts';

export interface NotifyHandlerOptions extends NotifierOptions {
  readonly contexts: ContextFactory;
}

/**
 * Creates the stream handler that sends notifications about approvals and publishes the ends of runs. The stream delivers
 * the end of a run again until it is published. A failed notification is not delivered again, because it is due and the
 * sweeper repeats it; it would hold up the ends of other runs.
 */
export const createNotifyHandler =
  (options: NotifyHandlerOptions) =>
  (event: StreamEvent): Promise<BatchResponse> =>
    options.telemetry.runInvocation(() =>
      forEachChange(event, options.telemetry, async (change) => {
        await notifyApprovers(options, change);
        await publishRunEnd(options, change);
      }),
    );

async function notifyApprovers({ contexts, ...options }: NotifyHandlerOptions, { after }: Change): Promise<void> {
  const ids = runIdsOf(after);
  const id = after.key.startsWith(APPROVAL_KEY_PREFIX) ? approvalIdFromKey(after.key) : undefined;
  if (!ids || id === undefined) return;
  const { status, agent, pendingNotification, notifyAttempts = 0, notifyAt = 0 } = readApprovalMeta(after);
  const at = toRunContext(await contexts.forTenant(), ids.tenant, ids.run);
  // Another invocation is sending it. If that one fails, the notification is due again later.
  const isInProgress = notifyAttempts > 0 && notifyAt > at.now();
  if (status !== 'PENDING' || pendingNotification === undefined || isInProgress) return;
  try {
    await processDueApproval(at, id, notifierFor(options, ids.tenant, agent));
  } catch (error) {
    // A failure of the agent's function is logged and counted already, and so is one of the bus or the topic.
    if (!isRetryable(error)) {
      if (isWaitstateError(error, 'STEP_FAILED', 'TIMED_OUT')) return;
      throw error;
    }
    const { tenant, run } = ids;
    options.telemetry.log('warn', 'Approvers could not be notified. The sweeper tries again.', {
      ...{ tenant, run, approval: id },
      ...errorFields(error),
    });
  }
}

/** The event and the metric of each status that ends a run. */
const END_EVENTS: Readonly<Partial<Record<Status, { readonly type: string; readonly metric: Metric }>>> = {
  SUCCEEDED: { type: 'Run Succeeded', metric: 'RunSucceeded' },
  FAILED: { type: 'Run Failed', metric: 'RunFailed' },
  CANCELLED: { type: 'Run Cancelled', metric: 'RunCancelled' },
};

async function publishRunEnd({ publish, telemetry }: NotifyHandlerOptions, change: Change): Promise<void> {
  const heads = changedHeads(change);
  const ids = runIdsOf(change.after);
  const end = heads && END_EVENTS[heads.after.status];
  if (!heads || !ids || !end) return;
  const { status, agent, version } = heads.after;
  if (heads.before && hasEnded(heads.before.status)) return;
  await publish?.({ type: end.type, detail: { ...ids, agent, status, version } });
  // After publishing, because the stream delivers a failed record again and it must count once.
  telemetry.count(end.metric);
}
