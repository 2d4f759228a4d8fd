import type { Contexts } from '../checkpoints/contexts.ts';
import { runAt } from '../checkpoints/derived-contexts.ts';
import { isWaitstateError } from '../core/errors.ts';
import { hasEnded, type Status } from '../core/status.ts';
import { readApprovalMeta } from '../runtime/approvals/approval-meta.ts';
import { APPROVAL_PREFIX, approvalIdOf } from '../runtime/approvals/approval-records.ts';
import { approvalDue } from '../runtime/approvals/due.ts';
import type { Metric } from '../runtime/telemetry.ts';
import { lambdaFunctions } from './agent-functions.ts';
import { contextsOf, wired } from './lazy-handler.ts';
import { type TellingOptions, tellingOf } from './notifier.ts';
import { observingOf } from './powertools.ts';
import { announcing } from './publish-events.ts';
import { type BatchResponse, type Change, eachChange, headsOf, runOf, type StreamEvent } from './stream-records.ts';

export interface Notifying extends TellingOptions {
  readonly contexts: Contexts;
}

/** The function on the table's stream that tells people of approvals, and everybody of runs that have ended. */
export const createNotify =
  (notifying: Notifying) =>
  (event: StreamEvent): Promise<BatchResponse> =>
    notifying.observing.invocation(() =>
      eachChange(event, notifying.observing, async (change) => {
        await tellOfApproval(notifying, change);
        await tellOfEnd(notifying, change);
      }),
    );

async function tellOfApproval({ contexts, ...options }: Notifying, { now }: Change): Promise<void> {
  const ids = runOf(now);
  const id = now.key.startsWith(APPROVAL_PREFIX) ? approvalIdOf(now.key) : undefined;
  if (!ids || id === undefined) return;
  const { status, agent, tell, tellTries = 0, tellAt = 0 } = readApprovalMeta(now);
  const at = runAt(await contexts.context(), ids.tenant, ids.run);
  // Somebody is telling them; unless that works, it is due again later.
  const isUnderWay = tellTries > 0 && tellAt > at.now();
  if (status !== 'PENDING' || tell === undefined || isUnderWay) return;
  try {
    await approvalDue(at, id, tellingOf(options, ids.tenant, agent));
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

async function tellOfEnd({ announce, observing }: Notifying, change: Change): Promise<void> {
  const heads = headsOf(change);
  const ids = runOf(change.now);
  const end = heads && ENDS[heads.now.status];
  if (!heads || !ids || !end) return;
  const { status, agent, version } = heads.now;
  if (heads.before && hasEnded(heads.before.status)) return;
  await announce?.({ type: end.type, detail: { ...ids, agent, status, version } });
  // Last: a record that fails comes again.
  observing.count(end.metric);
}

export const handler = wired('notify', (environment) =>
  createNotify({
    contexts: contextsOf(environment),
    agents: environment.agents,
    functions: lambdaFunctions(),
    announce: announcing(environment),
    approvalUrl: environment.approvalUrl,
    observing: observingOf('notify', environment),
  }),
);
