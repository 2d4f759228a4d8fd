import type { RunContext } from '../checkpoints/engine.ts';
import { scanRuns } from '../checkpoints/engine.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { type FoundApproval, findApproval, findApprovals } from '../runtime/approvals/change.ts';
import { decideAs, remindAs, withdrawAs } from '../runtime/approvals/decide.ts';
import { deliverDecided } from '../runtime/approvals/deliver-decided.ts';
import { inboxAs, showPending } from '../runtime/approvals/inbox.ts';
import { decideByTokenAs, showByToken } from '../runtime/approvals/tokens.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type ApprovalDocument, toApprovalDocument } from './approval-document.ts';
import { checkLimit } from './check-limit.ts';
import { followUpApproval } from './follow-up-approval.ts';
import type { LinkedApproval, Operator } from './operator.ts';

type ApprovalDesk = Pick<
  Operator,
  | 'inbox'
  | 'pendingApprovals'
  | 'approvals'
  | 'approval'
  | 'followUpApproval'
  | 'decide'
  | 'remind'
  | 'withdraw'
  | 'approvalByLink'
  | 'decideByLink'
>;

const WAITING = ['WAITING_FOR_APPROVAL', 'WAITING_FOR_SIGNAL', 'SLEEPING'] as const;
const MOST_APPROVALS = 100;

/** The part of the desk that is about approvals. */
export function createApprovalOperator(runtime: Runtime): ApprovalDesk {
  const { log, contexts } = runtime;
  const { forTenant: context, forRun: inRun } = contexts;
  return {
    async inbox(person, { groups = [], limit = MOST_APPROVALS } = {}) {
      const options = { groups, limit: checkLimit(limit, MOST_APPROVALS), log };
      return Array.fromAsync(inboxAs(await context(), person, toApprovalDocument, options));
    },
    async pendingApprovals({ limit = MOST_APPROVALS } = {}) {
      checkLimit(limit, MOST_APPROVALS);
      const all = await context();
      const found: ApprovalDocument[] = [];
      for await (const { partition, head } of scanRuns(all, { status: WAITING })) {
        for (const id of head.work?.approvals ?? []) {
          const open = await showPending(all, { partition, id }, toApprovalDocument, { log });
          if (open) found.push(open);
        }
        if (found.length >= limit) break;
      }
      return oldestFirst(found).slice(0, limit);
    },
    async approvals(run) {
      const at = await inRun(run);
      const found = await findApprovals(at);
      return oldestFirst(await Promise.all(found.map((each) => toApprovalDocument(at, each))));
    },
    async approval(run, id) {
      const at = await inRun(run);
      return toApprovalDocument(at, await findApproval(at, id));
    },
    followUpApproval: async (run, approval) => followUpApproval(await inRun(run), approval),
    decide: async (run, input) => deliverDecided(runtime, await decideAs(await inRun(run), input, toApprovalDocument)),
    remind: async (run, id) => remindAs(await inRun(run), id, toApprovalDocument),
    withdraw: async (run, id, why) =>
      deliverDecided(runtime, await withdrawAs(await inRun(run), id, why, toApprovalDocument)),
    approvalByLink: async (token) => showByToken(await context(), token, openedLink),
    async decideByLink(token, answer) {
      const loaded = await decideByTokenAs(await context(), token, answer, openedLink);
      await deliverDecided(runtime, loaded.approval);
      return loaded;
    },
  };
}

const oldestFirst = (approvals: readonly ApprovalDocument[]): readonly ApprovalDocument[] =>
  approvals.toSorted((a, b) => a.askedAt.getTime() - b.askedAt.getTime());

async function openedLink(at: RunContext, found: FoundApproval, person: string): Promise<LinkedApproval> {
  const { status, agent } = found.head;
  const approval = await toApprovalDocument(at, found);
  const again = await followUpApproval(at, approval);
  return { approval, person, run: { status, ...omitUndefined({ agent }) }, ...omitUndefined({ followUp: again }) };
}
