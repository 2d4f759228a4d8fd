import type { RunCipher, RunContext } from '../../checkpoints/engine.ts';
import {
  type ApprovalOutcome,
  type ApprovalStatus,
  type Approver,
  applyTimeouts,
  type GroupMembers,
  type NotificationKind,
  type Person,
  unsentNotification,
} from '../../core/approval.ts';
import { shownHash } from '../../core/approval-votes.ts';
import type { JsonSchema } from '../../core/forms/json-schema.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import {
  type ApprovalContent,
  readApprovalContent,
  readVotes,
  readWithdrawalReason,
  type VoteView,
} from './approval-content.ts';
import { type FoundApproval, findApproval } from './find-approval.ts';
import { readMembers } from './group-members.ts';

/** An approval as approvers and portals see it. */
export interface ApprovalView {
  readonly tenant: string;
  readonly run: string;
  readonly id: string;
  readonly agent?: string;
  readonly name: string;
  /** 1 for the first request, 2 when people are asked again, and so on. */
  readonly requestNumber: number;
  readonly status: ApprovalStatus;
  readonly title: string;
  readonly show: unknown;
  readonly facts: Readonly<Record<string, unknown>> | undefined;
  /** Why people are asked again: the facts of the previous request, and the current ones. */
  readonly changed?: NonNullable<ApprovalContent['changed']>;
  /** The hash of title, `show` and facts, or of the proposed changes; pass it with the decision. */
  readonly contentHash: string;
  /** The newest changes that an approver proposed; a decision is about the request with these changes. */
  readonly proposal?: { readonly by: Person; readonly for?: Person; readonly at: Date; readonly edits: unknown };
  /** For a question, the JSON Schema of its answer, from which a form can be made. */
  readonly answerSchema?: JsonSchema;
  /** The newest answer to a question; it is final when the status is APPROVED. */
  readonly answer?: { readonly by: Person; readonly for?: Person; readonly at: Date; readonly value: unknown };
  readonly approvers: readonly Approver[];
  readonly quorum: number;
  readonly requestedAt: Date;
  readonly deadline?: Date;
  readonly editable: boolean;
  /** The JSON Schema of edits; absent if any JSON can be sent. */
  readonly editsSchema?: JsonSchema;
  /** The members of groups of approvers, as the agent listed them when approvers were last notified. */
  readonly members?: GroupMembers;
  /** Whether anyone can vote for a group whose members nobody knows. */
  readonly openGroups?: true;
  /** The person who requested the run. */
  readonly requestedBy?: Person;
  /** Whether that person cannot vote. */
  readonly excludeRequester?: true;
  /** In an inbox or behind a link: the person for whom its owner can decide, as their delegate. */
  readonly for?: Person;
  readonly votes: readonly VoteView[];
  readonly endedAt?: Date;
  readonly outcome?: ApprovalOutcome;
  readonly withdrawalReason?: string;
  /** Present if approvers should have been notified more than two minutes ago, and were not. */
  readonly unsentNotification?: {
    readonly kind: NotificationKind;
    readonly since: Date;
    /** The failed attempts; 0 if no running process has the agent. */
    readonly attempts: number;
  };
}

/** Reads an approval. Past its deadline its status is EXPIRED, even if the sweeper has not recorded that yet. */
export const viewApproval = async (at: RunContext, id: string): Promise<ApprovalView> =>
  toApprovalView(await findApproval(at, id));

/** Renders an approval, with what it shows as values. */
export async function toApprovalView(found: FoundApproval): Promise<ApprovalView> {
  const cipher = await found.cipher();
  const { title, show, facts, ...more } = await readApprovalContent(found.at, cipher, found.approval);
  return { ...toApprovalTerms(found, cipher), title, show, facts, ...omitUndefined(more) };
}

/** Everything of an approval except what it shows. */
export function toApprovalTerms(
  { at, approval, for: person }: FoundApproval,
  cipher: RunCipher,
): Omit<ApprovalView, keyof ApprovalContent> {
  const meta = applyTimeouts(approval.meta, at.now());
  const unsent = unsentNotification(meta, at.now());
  const votes = readVotes(at, cipher, approval);
  const newest = votes[meta.votes.findLastIndex(({ proposes }) => proposes)];
  const author = newest && { by: newest.by, ...omitUndefined({ for: newest.for }), at: newest.at };
  const proposed =
    author &&
    (meta.question ? { answer: { ...author, value: newest.value } } : { proposal: { ...author, edits: newest.edits } });
  const { agent, name, requestNumber, status, approvers, quorum, editable, outcome } = meta;
  const { openGroups, requestedBy, excludeRequester } = meta;
  return {
    tenant: at.tenant,
    run: at.run,
    id: approval.id,
    name,
    requestNumber,
    status,
    contentHash: shownHash(meta),
    approvers,
    quorum,
    requestedAt: new Date(meta.requestedAt),
    editable,
    votes,
    ...(meta.members !== undefined && { members: readMembers(at, cipher, approval) }),
    ...omitUndefined({ openGroups, requestedBy, excludeRequester, for: person }),
    ...proposed,
    ...omitUndefined({ agent, outcome, withdrawalReason: readWithdrawalReason(at, cipher, { ...approval, meta }) }),
    ...omitUndefined({ deadline: toDate(meta.deadline), endedAt: toDate(meta.endedAt) }),
    ...(unsent && { unsentNotification: { ...unsent, since: new Date(unsent.since) } }),
  };
}

const toDate = (time: number | undefined): Date | undefined => (time === undefined ? undefined : new Date(time));
