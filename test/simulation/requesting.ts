import { isWaitstateError } from '../../lambda/core/errors.ts';
import type { AgentContext, ApprovalOptions, Decision } from '../../lambda/runtime/definition/agent-context.ts';
import type { StandardSchema } from '../../lambda/runtime/definition/standard-schema.ts';
import type { ApprovalMove } from './approval-move.ts';
import type { World } from './world.ts';

/** Requests an approval as a move of an agent says; returns the status of the decision. */
export async function requestApproval(
  world: World,
  ctx: Pick<AgentContext, 'approval' | 'run'>,
  move: ApprovalMove & { readonly at: string },
): Promise<string> {
  try {
    const decision = await ctx.approval('sign', { ...toOptions(move), ...recheckOptions(world, ctx.run, move) });
    checkReplayed(world, ctx.run, move.at, decision);
    return decision.status;
  } catch (error) {
    if (isWaitstateError(error, 'APPROVAL_EXPIRED') && move.onTimeout === 'fail') return 'FAILED';
    throw error;
  }
}

function toOptions(move: ApprovalMove & { readonly at: string }): ApprovalOptions<unknown> {
  const {
    at,
    approvers,
    quorum,
    openGroups,
    edits,
    onTimeout,
    timeoutMs,
    escalateTo,
    escalateAfterMs,
    remind,
    rechecks,
  } = move;
  const hasTimeout = timeoutMs !== undefined;
  return {
    title: `May ${at} start?`,
    show: { at },
    approvers,
    quorum,
    openGroups,
    facts: { price: 100, isRechecked: rechecks },
    ...(edits !== 'none' && { editable: edits === 'any' ? true : POSITIVE_PRICE }),
    ...(hasTimeout && { timeout: { milliseconds: timeoutMs }, onTimeout }),
    ...(escalateTo && { escalateTo }),
    ...(escalateAfterMs !== undefined && { escalateAfter: { milliseconds: escalateAfterMs } }),
    ...(remind && { remindAfter: { hours: 1 } }),
  };
}

const POSITIVE_PRICE: StandardSchema<{ price: number }> = {
  '~standard': {
    version: 1,
    vendor: 'simulation',
    validate: (value) => {
      const { price } = value as { price: number };
      return price > 0 ? { value: { price } } : { issues: [{ message: 'Expected a positive price.' }] };
    },
  },
};

/** Facts that change as often as the move says. */
function recheckOptions(world: World, run: string, { at, rechecks, changes }: ApprovalMove & { readonly at: string }) {
  if (!rechecks) return {};
  const key = `${run} ${at}`;
  const counts = world.ledger.rechecks;
  const recheck = () => {
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return { price: 100 + Math.min(changes, count), isRechecked: true };
  };
  return { recheck };
}

/** Checks that a replay returns the same decision again. */
function checkReplayed({ ledger, addFinding }: World, run: string, at: string, decision: Decision<unknown>): void {
  const { status, by, edits, contentHash, requestCount } = decision;
  const now = JSON.stringify({ status, by, edits, contentHash, requestCount });
  const before = ledger.decisions.get(`${run} ${at}`) ?? now;
  ledger.decisions.set(`${run} ${at}`, now);
  if (before !== now && !ledger.retried.has(run))
    addFinding(`run ${run} saw the decision ${before} at ${at}, then ${now}`);
}
