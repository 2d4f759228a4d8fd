import { isDeepStrictEqual } from 'node:util';
import { type ApprovalRequest, checkApprovalRequest } from '../../core/approval.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { createApprovalWrites, toApprovalId } from '../approvals/approval-records.ts';
import type { RecordedDecision } from '../approvals/decision.ts';
import { MAX_PENDING_APPROVALS } from '../control/end-run.ts';
import type { ApprovalOptions, Decision, Facts } from '../definition/agent-context.ts';
import { agentMisuse } from '../definition/agent-errors.ts';
import { isStandardSchema, validate } from '../definition/standard-schema.ts';
import type { Invocation } from '../invocation/invocation.ts';
import { type ApprovalEntry, hasSettled } from '../journal/entries.ts';
import type { Scope } from '../journal/identity.ts';
import { recordRefusal } from './check-without-requester.ts';
import { runOrReplay } from './step.ts';

/** Why an approval is requested again: changed facts, or edits that are not valid. */
interface FactsChange {
  readonly before: unknown;
  readonly after: unknown;
}

/** Runs `ctx.approval` under the id of its operation. */
export async function runApproval<Edits>(
  invocation: Invocation,
  scope: Scope,
  id: string,
  name: string,
  options: ApprovalOptions<Edits>,
): Promise<Decision<Edits>> {
  checkApprovalRequest(toApprovalRequest(options, options.facts));
  const { maxRequests = 3, recheck } = options;
  if (!Number.isSafeInteger(maxRequests) || maxRequests < 1)
    throw invalidInput('`maxRequests`', 'a whole number from 1', maxRequests);
  if (recheck && !options.facts) throw invalidInput('`recheck`', 'given together with `facts`', 'no facts');
  let entry = invocation.recorded(id, 'approval');
  for (;;) {
    if (entry && hasSettled(entry)) {
      invocation.markReached(id);
      return decisionOrThrow<Edits>(invocation, id, entry);
    }
    await invocation.begin(scope, id);
    if (!entry && invocation.pendingWaits.countByStatus('WAITING_FOR_APPROVAL') >= MAX_PENDING_APPROVALS)
      throw agentMisuse(
        `A run can have at most ${MAX_PENDING_APPROVALS} pending approvals. Combine several requests into one approval.`,
      );
    if (!entry) entry = await requestApproval(invocation, id, name, options, 1, undefined);
    else if (entry.decided === undefined)
      entry = await invocation.pendingWaits.waitFor(id, entry, 'WAITING_FOR_APPROVAL');
    else entry = await recheckDecision(invocation, scope, id, name, options, entry, maxRequests);
  }
}

function decisionOrThrow<Edits>({ failedOperations }: Invocation, id: string, entry: ApprovalEntry): Decision<Edits> {
  if (Object.hasOwn(entry, 'error')) {
    failedOperations.set(Object(entry.error), id);
    throw entry.error;
  }
  const { fails, ...recorded } = entry.value as RecordedDecision;
  if (fails) {
    const error = new WaitstateError(
      'APPROVAL_EXPIRED',
      `Approval "${entry.approval}" was not decided before its deadline, and its \`onTimeout\` is "fail".`,
      { scope: 'run' },
    );
    // A retry of the run then requests the approval again.
    failedOperations.set(error, id);
    throw error;
  }
  return { ...recorded, facts: entry.facts } as Decision<Edits>;
}

/** The request as it is stored, with title and content made from the given facts. */
function toApprovalRequest(options: ApprovalOptions<unknown>, facts: Facts | undefined): ApprovalRequest {
  const {
    title,
    show,
    editable,
    facts: _facts,
    recheck: _recheck,
    same: _same,
    maxRequests: _maxRequests,
    key: _key,
    ...request
  } = options;
  return {
    ...request,
    title: typeof title === 'function' ? title(facts ?? {}) : title,
    ...(show !== undefined && { show: typeof show === 'function' ? show(facts ?? {}) : show }),
    ...(facts && { facts }),
    ...(editable && { editable: true }),
  };
}

/**
 * Requests the approval in the write that suspends the run, or in a separate write while other operations still run.
 */
async function requestApproval(
  invocation: Invocation,
  id: string,
  name: string,
  options: ApprovalOptions<unknown>,
  requestNumber: number,
  followUp: { readonly facts: Facts | undefined; readonly changed: FactsChange } | undefined,
): Promise<ApprovalEntry> {
  const { at, agent, work } = invocation;
  const approval = toApprovalId(id, { rewinds: work.rewinds, requestNumber });
  const facts = followUp?.facts ?? options.facts;
  const request = toApprovalRequest(options, facts);
  const entry: ApprovalEntry = {
    kind: 'approval',
    approval,
    requestNumber,
    ...invocation.journal.beginWait(id),
    ...(facts && { facts }),
    ...((options.recheck || isStandardSchema(options.editable)) && { rechecks: true }),
  };
  const refused = request.excludeRequester && (await recordRefusal(invocation, id, name, request, entry));
  if (refused) return refused;
  return invocation.pendingWaits.waitFor(id, entry, 'WAITING_FOR_APPROVAL', {
    step: id,
    entries: [[id, entry]],
    sideWrites: () =>
      createApprovalWrites(at, invocation.writer.loaded.cipher, approval, request, {
        agent: agent.name,
        name,
        requestNumber,
        changed: followUp?.changed,
        requestedBy: invocation.writer.loaded.head.meta.requestedBy,
      }),
    work: (current) => ({ ...current, approvals: [...(current.approvals ?? []), approval] }),
  });
}

/** Checks after an approval that its edits are valid and the facts have not changed; requests it again otherwise. */
async function recheckDecision(
  invocation: Invocation,
  scope: Scope,
  id: string,
  name: string,
  options: ApprovalOptions<unknown>,
  entry: ApprovalEntry,
  maxRequests: number,
): Promise<ApprovalEntry> {
  const { requestNumber = 1, decided } = entry;
  const before = entry.facts as Facts | undefined;
  const decision = decided as RecordedDecision;
  const recordDecision = async (value: RecordedDecision): Promise<ApprovalEntry> => {
    const { decided: _decided, ...rest } = entry;
    await invocation.runActive(() =>
      invocation.record({ entries: [[id, { ...rest, value }]], note: `decision on ${id}` }),
    );
    return invocation.journal.entry(id) as ApprovalEntry;
  };
  const requestAgain = (facts: Facts | undefined, changed: FactsChange): Promise<ApprovalEntry> =>
    requestNumber >= maxRequests
      ? recordDecision({
          ...decision,
          approved: false,
          status: 'CHANGED',
          comment: `Requested ${requestNumber} times; after each approval the facts had changed or the edits were not valid.`,
        })
      : requestApproval(invocation, id, name, options, requestNumber + 1, { facts, changed });
  if (!decision.approved) return recordDecision(decision);
  const valid = await validateEdits(options, decision);
  if ('issues' in valid) return requestAgain(before, { before: decision.edits, after: valid.issues });
  if (!options.recheck) return recordDecision(valid.decision);
  const { recheck, same = isDeepStrictEqual } = options;
  // Each request has its own recheck step: facts that were read before a rewind are outdated.
  const work = { id: `${entry.approval}/recheck`, kind: 'step' as const, run: recheck, options: {} };
  const after = await runOrReplay(invocation, scope, work);
  if (same(before ?? {}, after)) return recordDecision(valid.decision);
  return requestAgain(after, { before, after });
}

async function validateEdits(
  { editable }: ApprovalOptions<unknown>,
  decision: RecordedDecision,
): Promise<{ readonly decision: RecordedDecision } | { readonly issues: string }> {
  if (!isStandardSchema(editable) || decision.edits === undefined) return { decision };
  try {
    return { decision: { ...decision, edits: await validate('The edited value', editable, decision.edits) } };
  } catch (error) {
    if (!isWaitstateError(error, 'SCHEMA_REFUSED')) throw error;
    return { issues: error.message };
  }
}
