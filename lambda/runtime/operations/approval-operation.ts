import { isDeepStrictEqual } from 'node:util';
import { checkApprovalRequest } from '../../core/approval.ts';
import { WaitstateError } from '../../core/errors.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { createApprovalWrites, toApprovalId } from '../approvals/approval-records.ts';
import type { RecordedDecision } from '../approvals/decision.ts';
import { MAX_PENDING_APPROVALS } from '../control/end-run.ts';
import type { Facts } from '../definition/agent-context.ts';
import { agentMisuse } from '../definition/agent-errors.ts';
import type { Invocation } from '../invocation/invocation.ts';
import { type ApprovalEntry, hasSettled, nonDeterminismError } from '../journal/entries.ts';
import type { Scope } from '../journal/identity.ts';
import { type AskedApproval, checkCarried, toApprovalRequest } from './asked-approval.ts';
import { recordRefusal } from './check-without-requester.ts';
import { runOrReplay } from './step.ts';

export { askedApproval, askedQuestion } from './asked-approval.ts';

/** Why people are asked again: changed facts, or an answer or edits that are not valid. */
interface FactsChange {
  readonly before: unknown;
  readonly after: unknown;
}

/** The operation that asks. */
interface Operation {
  readonly invocation: Invocation;
  readonly scope: Scope;
  readonly id: string;
  readonly name: string;
  readonly asked: AskedApproval;
}

/** Runs `ctx.approval` or `ctx.ask` under the id of its operation. */
export async function runApproval(operation: Operation): Promise<unknown> {
  const { invocation, scope, id, asked } = operation;
  const { maxRequests = 3, recheck, facts } = asked.options;
  checkApprovalRequest(toApprovalRequest(asked, facts, asked.isQuestion ? { answerSchema: {} } : {}));
  if (!Number.isSafeInteger(maxRequests) || maxRequests < 1)
    throw invalidInput('`maxRequests`', 'a whole number from 1', maxRequests);
  if (recheck && !facts) throw invalidInput('`recheck`', 'given together with `facts`', 'no facts');
  let entry = invocation.recorded(id, 'approval');
  for (;;) {
    if (entry && (entry.question === true) !== asked.isQuestion)
      throw asked.isQuestion
        ? nonDeterminismError(id, 'is a question in this code', 'an approval was recorded')
        : nonDeterminismError(id, 'is an approval in this code', 'a question was recorded');
    if (entry && hasSettled(entry)) {
      invocation.markReached(id);
      return decisionOrThrow(invocation, id, entry);
    }
    await invocation.begin(scope, id);
    if (!entry && invocation.pendingWaits.countByStatus('WAITING_FOR_APPROVAL') >= MAX_PENDING_APPROVALS)
      throw agentMisuse(
        `A run can have at most ${MAX_PENDING_APPROVALS} pending approvals. Combine several requests into one approval.`,
      );
    if (!entry) entry = await requestApproval(operation, 1, undefined);
    else if (entry.decided === undefined)
      entry = await invocation.pendingWaits.waitFor(id, entry, 'WAITING_FOR_APPROVAL');
    else entry = await recheckDecision(operation, entry, maxRequests);
  }
}

function decisionOrThrow({ failedOperations }: Invocation, id: string, entry: ApprovalEntry): unknown {
  if (Object.hasOwn(entry, 'error')) {
    failedOperations.set(Object(entry.error), id);
    throw entry.error;
  }
  const { fails, ...recorded } = entry.value as RecordedDecision;
  if (fails) {
    const what = entry.question ? ['Question', 'answered'] : ['Approval', 'decided'];
    const error = new WaitstateError(
      'APPROVAL_EXPIRED',
      `${what[0]} "${entry.approval}" was not ${what[1]} before its deadline, and its \`onTimeout\` is "fail".`,
      { scope: 'run' },
    );
    // A retry of the run then requests the approval again.
    failedOperations.set(error, id);
    throw error;
  }
  return { ...recorded, facts: entry.facts };
}

/**
 * Requests the approval in the write that suspends the run, or in a separate write while other operations still run.
 */
async function requestApproval(
  { invocation, id, name, asked }: Operation,
  requestNumber: number,
  followUp: { readonly facts: Facts | undefined; readonly changed: FactsChange } | undefined,
): Promise<ApprovalEntry> {
  const { at, agent, work } = invocation;
  const approval = toApprovalId(id, { rewinds: work.rewinds, requestNumber });
  const facts = followUp?.facts ?? asked.options.facts;
  const request = toApprovalRequest(asked, facts, asked.schemas());
  const entry: ApprovalEntry = {
    kind: 'approval',
    approval,
    requestNumber,
    ...invocation.journal.beginWait(id),
    ...(facts && { facts }),
    ...(asked.isQuestion && { question: true }),
    ...((asked.options.recheck || asked.isChecked) && { rechecks: true }),
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

/** Checks after a decision that what it carries is valid and that the facts have not changed; asks again otherwise. */
async function recheckDecision(
  operation: Operation,
  entry: ApprovalEntry,
  maxRequests: number,
): Promise<ApprovalEntry> {
  const { invocation, scope, id, asked } = operation;
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
      ? recordDecision(changedDecision(decision, requestNumber))
      : requestApproval(operation, requestNumber + 1, { facts, changed });
  if (!(decision.approved ?? decision.answered)) return recordDecision(decision);
  const carried = asked.isQuestion ? decision.answer : decision.edits;
  const checked = await checkCarried(asked, carried);
  if ('issues' in checked) return requestAgain(before, { before: carried, after: checked.issues });
  const { value } = checked;
  const valid = { ...decision, ...(asked.isQuestion ? { answer: value } : value !== undefined && { edits: value }) };
  const { recheck, same = isDeepStrictEqual } = asked.options;
  if (!recheck) return recordDecision(valid);
  // Each request has its own recheck step: facts that were read before a rewind are outdated.
  const work = { id: `${entry.approval}/recheck`, kind: 'step' as const, run: recheck, options: {} };
  const after = await runOrReplay(invocation, scope, work);
  if (same(before ?? {}, after)) return recordDecision(valid);
  return requestAgain(after, { before, after });
}

/** The decision after the last request, when the facts changed again or what people entered was invalid again. */
function changedDecision({ answer: _answer, ...decision }: RecordedDecision, requestNumber: number): RecordedDecision {
  const isQuestion = decision.answered !== undefined;
  const [asked, decided, entered] = isQuestion
    ? ['Asked', 'answer', 'the answer was']
    : ['Requested', 'approval', 'the edits were'];
  return {
    ...decision,
    ...(isQuestion ? { answered: false } : { approved: false }),
    status: 'CHANGED',
    comment: `${asked} ${requestNumber} times; after each ${decided} the facts had changed or ${entered} not valid.`,
  };
}
