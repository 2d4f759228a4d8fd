import { isDeepStrictEqual } from 'node:util';
import { type ApprovalRequest, checkRequest } from '../../core/approval.ts';
import { isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { refused } from '../../core/invalid-input.ts';
import type { ApprovalOptions, Decision, Facts } from '../agent/agent-context.ts';
import { misused } from '../agent/agent-errors.ts';
import { isSchema, validated } from '../agent/standard-schema.ts';
import { approvalIdFor, askWrites } from '../approvals/approval-records.ts';
import type { Recorded } from '../approvals/decision.ts';
import { MOST_WITHDRAWALS } from '../control/end-run.ts';
import type { Invocation } from '../invocation/invocation.ts';
import { type Entry, hasSettled } from '../journal/entries.ts';
import type { Scope } from '../journal/identity.ts';
import { recordedWork } from './step.ts';

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
  checkRequest(requestOf(options, options.facts));
  const { maxAsks = 3, recheck } = options;
  if (!Number.isSafeInteger(maxAsks) || maxAsks < 1) throw refused('`maxAsks`', 'a whole number from 1', maxAsks);
  if (recheck && !options.facts) throw refused('`recheck`', 'given together with `facts`', 'no facts');
  const identity = scope.enter(name, options.key);
  return invocation.operation(identity, async () => {
    const { id } = identity;
    let entry = invocation.journal.get(id);
    if (entry) invocation.checkEntry(id, entry, 'approval', undefined);
    for (;;) {
      if (entry && hasSettled(entry)) {
        invocation.reached(id);
        return decided<Edits>(invocation, id, entry);
      }
      await invocation.begin(scope, id);
      if (!entry && invocation.waiting.count('WAITING_FOR_APPROVAL') >= MOST_WITHDRAWALS)
        throw misused(
          `At most ${MOST_WITHDRAWALS} approvals of a run can be open at once. Ask for several things in one.`,
        );
      if (!entry) entry = await ask(invocation, id, name, options, 1, undefined);
      else if (entry.decided === undefined) entry = await invocation.waiting.for(id, entry, 'WAITING_FOR_APPROVAL');
      else entry = await checked(invocation, scope, id, name, options, entry, maxAsks);
    }
  });
}

function decided<Edits>({ failedAt }: Invocation, id: string, entry: Entry): Decision<Edits> {
  if (Object.hasOwn(entry, 'error')) throw entry.error;
  const { fails, ...recorded } = entry.value as Recorded;
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
  const approval = approvalIdFor(id, { rewinds: work.rewinds, ask: count });
  const facts = again?.facts ?? options.facts;
  const request = requestOf(options, facts);
  const entry: Entry = {
    ...{ kind: 'approval', approval, ask: count, order: invocation.journal.nextOrder() },
    ...(facts && { facts }),
    ...((options.recheck || isSchema(options.editable)) && { rechecks: true }),
  };
  return invocation.waiting.for(id, entry, 'WAITING_FOR_APPROVAL', {
    step: id,
    entries: [[id, entry]],
    beside: () =>
      askWrites(at, invocation.writer.opened.sealing, approval, request, {
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
  const decision = answer as Recorded;
  const finish = async (value: Recorded): Promise<Entry> => {
    const { decided: _, ...rest } = entry;
    await invocation.active(() => invocation.record({ entries: [[id, { ...rest, value }]] }));
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
  const after = await recordedWork(invocation, scope, work);
  if (same(before ?? {}, after)) return finish(valid.decision);
  return askAgain(after, { before, after });
}

async function validEdits(
  { editable }: ApprovalOptions<unknown>,
  decision: Recorded,
): Promise<{ readonly decision: Recorded } | { readonly wrong: string }> {
  if (!isSchema(editable) || decision.edits === undefined) return { decision };
  try {
    return { decision: { ...decision, edits: await validated('What was edited', editable, decision.edits) } };
  } catch (error) {
    if (!isWaitstateError(error, 'SCHEMA_REFUSED')) throw error;
    return { wrong: error.message };
  }
}
