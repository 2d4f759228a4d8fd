import type { RunContext } from '../checkpoints/context.ts';
import { lookThroughRuns } from '../checkpoints/history.ts';
import { readLiveHead } from '../checkpoints/open.ts';
import { recordsOf } from '../checkpoints/scan.ts';
import { isHoldpointError } from '../core/errors.ts';
import { idsOf, partitionOf } from '../core/ids.ts';
import { refused } from '../core/input.ts';
import { present } from '../core/present.ts';
import { approvalIdOf } from '../runtime/approvals/approval-records.ts';
import { type FoundApproval, findApproval } from '../runtime/approvals/change.ts';
import { decideAs, remindAs, withdrawAs } from '../runtime/approvals/decide.ts';
import { inboxAs } from '../runtime/approvals/inbox.ts';
import { decideByTokenAs, showByToken } from '../runtime/approvals/tokens.ts';
import { deliverIfReady } from '../runtime/outside.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type ApprovalDocument, documentOf } from './approval-document.ts';
import type { Desk, OpenedLink } from './desk.ts';

type ApprovalDesk = Pick<
  Desk,
  'inbox' | 'openApprovals' | 'approvals' | 'approval' | 'decide' | 'remind' | 'withdraw' | 'link' | 'decideByLink'
>;

/** The part of the desk that is about approvals. */
export function approvalDesk(runtime: Runtime): ApprovalDesk {
  const { context, inRun } = runtime.contexts;
  /** Brings the run of an approval that has ended to a process, where somebody does that. */
  const delivered = async (approval: ApprovalDocument): Promise<ApprovalDocument> => {
    const { tenant, run, status } = approval;
    const at = { ...(await context()), tenant, run, partition: partitionOf(tenant, run) };
    if (status !== 'PENDING') await deliverIfReady(runtime, at);
    return approval;
  };
  return {
    async inbox(person, { groups = [], limit = MOST_APPROVALS } = {}) {
      return Array.fromAsync(inboxAs(await context(), person, documentOf, { groups, limit: checkLimit(limit) }));
    },
    async openApprovals({ limit = MOST_APPROVALS } = {}) {
      const found: ApprovalDocument[] = [];
      for await (const { partition, head } of lookThroughRuns(await context(), { status: WAITING })) {
        const at = { ...(await context()), ...idsOf(partition), partition };
        for (const id of head.work?.approvals ?? []) found.push(...(await ifOpen(at, id)));
        if (found.length >= checkLimit(limit)) break;
      }
      return found.sort((a, b) => a.askedAt.getTime() - b.askedAt.getTime());
    },
    async approvals(run) {
      const at = await inRun(run);
      await readLiveHead(at);
      const found: ApprovalDocument[] = [];
      for await (const { key } of recordsOf(at, { from: 'a', to: 'b' }))
        found.push(await documentOf(at, await findApproval(at, approvalIdOf(key) ?? '')));
      return found.sort((a, b) => a.askedAt.getTime() - b.askedAt.getTime());
    },
    async approval(run, id) {
      const at = await inRun(run);
      return documentOf(at, await findApproval(at, id));
    },
    decide: async (run, input) => delivered(await decideAs(await inRun(run), input, documentOf)),
    remind: async (run, id) => remindAs(await inRun(run), id, documentOf),
    withdraw: async (run, id, why) => delivered(await withdrawAs(await inRun(run), id, why, documentOf)),
    link: async (token) => showByToken(await context(), token, openedLink),
    async decideByLink(token, answer) {
      const opened = await decideByTokenAs(await context(), token, answer, openedLink);
      await delivered(opened.approval);
      return opened;
    },
  };
}

const WAITING = ['WAITING_FOR_APPROVAL', 'WAITING_FOR_SIGNAL', 'SLEEPING'] as const;
const MOST_APPROVALS = 100;

function checkLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= MOST_APPROVALS) return limit;
  throw refused('`limit`', `a whole number from 1 to ${MOST_APPROVALS}`, limit);
}

async function openedLink(at: RunContext, found: FoundApproval, person: string): Promise<OpenedLink> {
  const { status, agent } = found.head;
  return { approval: await documentOf(at, found), person, run: { status, ...present({ agent }) } };
}

/** The approval, unless it has ended or is gone: the list that named its run may be behind. */
async function ifOpen(at: RunContext, id: string): Promise<readonly ApprovalDocument[]> {
  try {
    const approval = await documentOf(at, await findApproval(at, id));
    return approval.status === 'PENDING' ? [approval] : [];
  } catch (error) {
    if (isHoldpointError(error, 'APPROVAL_NOT_FOUND', 'RUN_SHREDDED')) return [];
    throw error;
  }
}
