import { scanRuns } from '../checkpoints/engine.ts';
import { isActive } from '../core/delegation.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { decideByToken, findByToken } from '../runtime/approvals/by-token.ts';
import { decide, remind, withdraw } from '../runtime/approvals/decide.ts';
import { decideAll, renderDecided } from '../runtime/approvals/decide-all.ts';
import {
  delegate,
  endDelegation,
  listDelegations,
  readDelegations,
  toDelegationView,
} from '../runtime/approvals/delegations.ts';
import { deliverDecided } from '../runtime/approvals/deliver-decided.ts';
import { type FoundApproval, findApproval, findApprovals } from '../runtime/approvals/find-approval.ts';
import { findPending, inbox, skipUnreadable } from '../runtime/approvals/inbox.ts';
import { knownVoters } from '../runtime/approvals/match-voter.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { type ApprovalDocument, toApprovalDocument } from './approval-document.ts';
import { checkLimit } from './check-limit.ts';
import { createEvidence } from './evidence/create-evidence.ts';
import { findFollowUp } from './follow-up-approval.ts';
import type { ApprovalInRun, Operator, PendingQuery } from './operator.ts';
import { findUnsentNotifications } from './unsent-notifications.ts';

type ApprovalOperator = Pick<
  Operator,
  | 'inbox'
  | 'pendingApprovals'
  | 'unsentNotifications'
  | 'approvals'
  | 'approval'
  | 'approvalInRun'
  | 'evidence'
  | 'decide'
  | 'decideAll'
  | 'remind'
  | 'withdraw'
  | 'approvalByLink'
  | 'decideByLink'
  | 'delegate'
  | 'endDelegation'
  | 'delegations'
  | 'delegationsOf'
>;

const WAITING_STATUSES = ['WAITING_FOR_APPROVAL', 'WAITING_FOR_SIGNAL', 'SLEEPING'] as const;
const MAX_APPROVALS = 100;
const MAX_DELEGATIONS = 1000;

/** The methods of the operator that are about approvals. */
export function createApprovalOperator(runtime: Runtime): ApprovalOperator {
  const { log, contexts } = runtime;
  const { forTenant, forRun } = contexts;
  return {
    async inbox(person, { groups = [], limit = MAX_APPROVALS, ...kind } = {}) {
      checkLimit(limit, MAX_APPROVALS);
      const documents: ApprovalDocument[] = [];
      for await (const found of inbox(await forTenant(), person, { groups, log })) {
        if (!matchesKind(found, kind)) continue;
        const document = await skipUnreadable(toApprovalDocument(found), found, log);
        if (document) documents.push(document);
        if (documents.length >= limit) break;
      }
      return documents;
    },
    async pendingApprovals({ limit = MAX_APPROVALS, ...kind } = {}) {
      checkLimit(limit, MAX_APPROVALS);
      const context = await forTenant();
      const documents: ApprovalDocument[] = [];
      for await (const { partition, head } of scanRuns(context, {
        status: WAITING_STATUSES,
        ...omitUndefined({ agent: kind.agent }),
      })) {
        for (const id of head.work?.approvals ?? []) {
          const found = await findPending(context, { partition, id }, log);
          const document =
            found && matchesKind(found, kind) && (await skipUnreadable(toApprovalDocument(found), found, log));
          if (document) documents.push(document);
        }
        if (documents.length >= limit) break;
      }
      return sortOldestFirst(documents).slice(0, limit);
    },
    unsentNotifications: async () => findUnsentNotifications(await forTenant()),
    async approvals(run) {
      const found = await findApprovals(await forRun(run));
      return sortOldestFirst(await Promise.all(found.map(toApprovalDocument)));
    },
    approval: async (run, id) => toApprovalDocument(await findApproval(await forRun(run), id)),
    async approvalInRun(run, id) {
      const found = await findApproval(await forRun(run), id);
      return toApprovalInRun(found, await findFollowUp(found));
    },
    evidence: async (run, id) => createEvidence(await forRun(run), id),
    decide: async (run, input) =>
      toApprovalDocument(await deliverDecided(runtime, await decide(await forRun(run), input))),
    decideAll: async (input) => renderDecided(await decideAll(runtime, input), toApprovalDocument),
    remind: async (run, id) => toApprovalDocument(await remind(await forRun(run), id)),
    withdraw: async (run, id, reason) =>
      toApprovalDocument(await deliverDecided(runtime, await withdraw(await forRun(run), id, reason))),
    async approvalByLink(token) {
      const found = await findByToken(await forTenant(), token);
      const { person, delegationEnded } = found;
      const inRun = await toApprovalInRun(found, await findFollowUp(found));
      return { ...inRun, person, ...omitUndefined({ delegationEnded }) };
    },
    async decideByLink(token, answer) {
      const given =
        typeof answer === 'function' ? async (found: FoundApproval) => answer(await toApprovalDocument(found)) : answer;
      const decided = await deliverDecided(runtime, await decideByToken(await forTenant(), token, given));
      // The run can ask again only after it has resumed, so a decision that was recorded just now has no follow-up.
      const followUp = decided.isChanged ? undefined : await findFollowUp(decided);
      return { ...(await toApprovalInRun(decided, followUp)), person: decided.person };
    },
    delegate: async (input) => toDelegationView(await delegate(await forTenant(), input)),
    async endDelegation(person) {
      const ended = await endDelegation(await forTenant(), person);
      return ended && toDelegationView(ended);
    },
    delegations: async ({ person } = {}) =>
      (await listDelegations(await forTenant(), { person, limit: MAX_DELEGATIONS })).map(toDelegationView),
    async delegationsOf({ approvers, members = {} }) {
      const context = await forTenant();
      const found = await readDelegations(context, knownVoters({ approvers, members }));
      return [...found.values()].filter((each) => isActive(each, context.now())).map(toDelegationView);
    },
  };
}

const matchesKind = ({ approval: { meta } }: FoundApproval, { agent, name }: PendingQuery): boolean =>
  (agent === undefined || meta.agent === agent) && (name === undefined || meta.name === name);

const sortOldestFirst = (approvals: readonly ApprovalDocument[]): readonly ApprovalDocument[] =>
  approvals.toSorted((a, b) => a.requestedAt.getTime() - b.requestedAt.getTime());

async function toApprovalInRun(found: FoundApproval, followUp: FoundApproval | undefined): Promise<ApprovalInRun> {
  const { status, agent } = found.head;
  return {
    approval: await toApprovalDocument(found),
    run: { status, ...omitUndefined({ agent }) },
    ...(followUp && { followUp: await toApprovalDocument(followUp) }),
  };
}
