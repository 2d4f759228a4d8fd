import type { RunContext } from '../checkpoints/context.ts';
import { lookThroughRuns } from '../checkpoints/runs.ts';
import { present } from '../core/omit-undefined.ts';
import { type FoundApproval, findApproval, findApprovals } from '../runtime/approvals/change.ts';
import { decideAs, remindAs, withdrawAs } from '../runtime/approvals/decide.ts';
import { inboxAs, showOpen } from '../runtime/approvals/inbox.ts';
import { delivered } from '../runtime/approvals/record-delivery.ts';
import { decideByTokenAs, showByToken } from '../runtime/approvals/tokens.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type ApprovalDocument, documentOf } from './approval-document.ts';
import { checkLimit } from './check-limit.ts';
import { askedAgain } from './follow-up-approval.ts';
import type { Desk, OpenedLink } from './operator.ts';

type ApprovalDesk = Pick<
  Desk,
  | 'inbox'
  | 'openApprovals'
  | 'approvals'
  | 'approval'
  | 'askedAgain'
  | 'decide'
  | 'remind'
  | 'withdraw'
  | 'link'
  | 'decideByLink'
>;

const WAITING = ['WAITING_FOR_APPROVAL', 'WAITING_FOR_SIGNAL', 'SLEEPING'] as const;
const MOST_APPROVALS = 100;

/** The part of the desk that is about approvals. */
export function approvalDesk(runtime: Runtime): ApprovalDesk {
  const { log, contexts } = runtime;
  const { context, inRun } = contexts;
  return {
    async inbox(person, { groups = [], limit = MOST_APPROVALS } = {}) {
      const options = { groups, limit: checkLimit(limit, MOST_APPROVALS), log };
      return Array.fromAsync(inboxAs(await context(), person, documentOf, options));
    },
    async openApprovals({ limit = MOST_APPROVALS } = {}) {
      checkLimit(limit, MOST_APPROVALS);
      const all = await context();
      const found: ApprovalDocument[] = [];
      for await (const { partition, head } of lookThroughRuns(all, { status: WAITING })) {
        for (const id of head.work?.approvals ?? []) {
          const open = await showOpen(all, { partition, id }, documentOf, { log });
          if (open) found.push(open);
        }
        if (found.length >= limit) break;
      }
      return oldestFirst(found).slice(0, limit);
    },
    async approvals(run) {
      const at = await inRun(run);
      const found = await findApprovals(at);
      return oldestFirst(await Promise.all(found.map((each) => documentOf(at, each))));
    },
    async approval(run, id) {
      const at = await inRun(run);
      return documentOf(at, await findApproval(at, id));
    },
    askedAgain: async (run, approval) => askedAgain(await inRun(run), approval),
    decide: async (run, input) => delivered(runtime, await decideAs(await inRun(run), input, documentOf)),
    remind: async (run, id) => remindAs(await inRun(run), id, documentOf),
    withdraw: async (run, id, why) => delivered(runtime, await withdrawAs(await inRun(run), id, why, documentOf)),
    link: async (token) => showByToken(await context(), token, openedLink),
    async decideByLink(token, answer) {
      const opened = await decideByTokenAs(await context(), token, answer, openedLink);
      await delivered(runtime, opened.approval);
      return opened;
    },
  };
}

const oldestFirst = (approvals: readonly ApprovalDocument[]): readonly ApprovalDocument[] =>
  approvals.toSorted((a, b) => a.askedAt.getTime() - b.askedAt.getTime());

async function openedLink(at: RunContext, found: FoundApproval, person: string): Promise<OpenedLink> {
  const { status, agent } = found.head;
  const approval = await documentOf(at, found);
  const again = await askedAgain(at, approval);
  return { approval, person, run: { status, ...present({ agent }) }, ...present({ again }) };
}
