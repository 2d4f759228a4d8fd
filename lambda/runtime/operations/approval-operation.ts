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
import { type Entry, hasSettled } from '../journal/entries.ts';
import type { Scope } from '../journal/identity.ts';
import { runOrReplay } from './step.ts';

/** Why people are asked again. */
interface Changed {
  readonly before: unknown;
  readonly after: unknown;
}

/** `ctx.approval` */
export async function approval<Edits>(
  invocation: Invocation,
  scope: Scope,
  name: string,
  options: ApprovalOptions<Edits>,
): Promise<Decision<Edits>> {
  invocation.checkCall('ctx.approval', scope);
  checkApprovalRequest(requestOf(options, options.facts));
  const { maxAsks = 3, recheck } = options;
  if (!Number.isSafeInteger(maxAsks) || maxAsks < 1) throw invalidInput('`maxAsks`', 'a whole number from 1', maxAsks);
  if (recheck && !options.facts) throw invalidInput('`recheck`', 'given together with `facts`', 'no facts');
  const identity = scope.enter(name, options.key);
  return invocation.runOperation(identity, async () => {
    const { id } = identity;
    let entry = invocation.journal.get(id);
    if (entry) invocation.checkEntry(id, entry, 'approval', undefined);
    for (;;) {
      if (entry && hasSettled(entry)) {
        invocation.markReached(id);
        return decided<Edits>(invocation, id, entry);
      }
      await invocation.begin(scope, id);
      if (!entry && invocation.pendingWaits.countByStatus('WAITING_FOR_APPROVAL') >= MAX_PENDING_APPROVALS)
        throw agentMisuse(
          `At most ${MAX_PENDING_APPROVALS} approvals of a run can be open at once. Ask for several things in one.`,
        );
      if (!entry) entry = await ask(invocation, id, name, options, 1, undefined);
      else if (entry.decided === undefined)
        entry = await invocation.pendingWaits.waitFor(id, entry, 'WAITING_FOR_APPROVAL');
      else entry = await checked(invocation, scope, id, name, options, entry, maxAsks);
    }
  });
}

function decided<Edits>({ failedAt }: Invocation, id: string, entry: Entry): Decision<Edits> {
  if (Object.hasOwn(entry, 'error')) throw entry.error;
  const { fails, ...recorded } = entry.value as RecordedDecision;
  if (fails) {
    const error = new WaitstateError(
      'APPROVAL_EXPIRED',
      `Nobody decided approval "${entry.approval}" in time, and it says to fail then.`,
      { scope: 'run' },
    );
    // Who retries the run has people asked again.
    failedAt.set(error, id);
    throw error;
  }
  return { ...recorded, facts: entry.facts } as Decision<Edits>;
}

/** The request as it is stored, on the facts of this time. */
function requestOf(options: ApprovalOptions<unknown>, facts: Facts | undefined): ApprovalRequest {
  const { title, show, editable, facts: _, recheck: __, same: ___, maxAsks: ____, key: _____, ...request } = options;
  return {
    ...request,
    title: typeof title === 'function' ? title(facts ?? {}) : title,
    ...(show !== undefined && { show: typeof show === 'function' ? show(facts ?? {}) : show }),
    ...(facts && { facts }),
    ...(editable && { editable: true }),
  };
}

/** Asks in the write that suspends the run, or in one of its own when something else is still going on. */
function ask(
  invocation: Invocation,
  id: string,
  name: string,
  options: ApprovalOptions<unknown>,
  count: number,
  again: { readonly facts: Facts | undefined; readonly changed: Changed } | undefined,
): Promise<Entry> {
  const { at, agent, work } = invocation;
  const approval = toApprovalId(id, { rewinds: work.rewinds, ask: count });
  const facts = again?.facts ?? options.facts;
  const request = requestOf(options, facts);
  const entry: Entry = {
    ...{ kind: 'approval', approval, ask: count, order: invocation.journal.nextOrder() },
    ...(facts && { facts }),
    ...((options.recheck || isStandardSchema(options.editable)) && { rechecks: true }),
  };
  return invocation.pendingWaits.waitFor(id, entry, 'WAITING_FOR_APPROVAL', {
    step: id,
    entries: [[id, entry]],
    sideWrites: () =>
      createApprovalWrites(at, invocation.writer.loaded.cipher, approval, request, {
        ...{ agent: agent.name, name, ask: count, changed: again?.changed },
      }),
    work: (there) => ({ ...there, approvals: [...(there.approvals ?? []), approval] }),
  });
}

/** After an approval: whether its edits are valid and the facts still hold. If not, people are asked again. */
async function checked(
  invocation: Invocation,
  scope: Scope,
  id: string,
  name: string,
  options: ApprovalOptions<unknown>,
  entry: Entry,
  maxAsks: number,
): Promise<Entry> {
  const { ask: count = 1, decided: answer } = entry;
  const before = entry.facts as Facts | undefined;
  const decision = answer as RecordedDecision;
  const finish = async (value: RecordedDecision): Promise<Entry> => {
    const { decided: _, ...rest } = entry;
    await invocation.runActive(() => invocation.record({ entries: [[id, { ...rest, value }]] }));
    return invocation.journal.entry(id);
  };
  const askAgain = (facts: Facts | undefined, changed: Changed): Promise<Entry> =>
    count >= maxAsks
      ? finish({
          ...decision,
          approved: false,
          status: 'CHANGED',
          comment: `Asked ${count} times, and what was approved did not hold.`,
        })
      : ask(invocation, id, name, options, count + 1, { facts, changed });
  if (!decision.approved) return finish(decision);
  const valid = await validEdits(options, decision);
  if ('wrong' in valid) return askAgain(before, { before: decision.edits, after: valid.wrong });
  if (!options.recheck) return finish(valid.decision);
  const { recheck, same = isDeepStrictEqual } = options;
  // Each question has a look of its own: one from before a rewind says nothing about now.
  const work = { id: `${entry.approval}/recheck`, kind: 'step' as const, run: recheck, options: {} };
  const after = await runOrReplay(invocation, scope, work);
  if (same(before ?? {}, after)) return finish(valid.decision);
  return askAgain(after, { before, after });
}

async function validEdits(
  { editable }: ApprovalOptions<unknown>,
  decision: RecordedDecision,
): Promise<{ readonly decision: RecordedDecision } | { readonly wrong: string }> {
  if (!isStandardSchema(editable) || decision.edits === undefined) return { decision };
  try {
    return { decision: { ...decision, edits: await validate('What was edited', editable, decision.edits) } };
  } catch (error) {
    if (!isWaitstateError(error, 'SCHEMA_REFUSED')) throw error;
    return { wrong: error.message };
  }
}
