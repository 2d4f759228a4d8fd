import type { RunContext } from '../../checkpoints/context.ts';
import type { Sealing } from '../../checkpoints/encryption/run-cipher.ts';
import { type ApprovalStatus, asOf, type Outcome } from '../../core/approval.ts';
import { present } from '../../core/omit-undefined.ts';
import { type ApprovalContent, type OpenedVote, openApproval, votesOf } from './approval-content.ts';
import { type FoundApproval, findApproval } from './change.ts';

/** An approval as people see it. */
export interface ApprovalView {
  readonly tenant: string;
  readonly run: string;
  readonly id: string;
  readonly agent?: string;
  readonly name: string;
  /** 1, 2, …: how often it was asked. */
  readonly ask: number;
  readonly status: ApprovalStatus;
  readonly title: string;
  readonly show: unknown;
  readonly facts: Readonly<Record<string, unknown>> | undefined;
  /** Why it is asked again: what the facts were, and what they are. */
  readonly changed?: NonNullable<ApprovalContent['changed']>;
  /** The hash of all that is shown; pass it with the decision. */
  readonly shown: string;
  readonly approvers: readonly string[];
  readonly quorum: number;
  readonly askedAt: Date;
  readonly deadline?: Date;
  readonly editable: boolean;
  readonly votes: readonly OpenedVote[];
  readonly endedAt?: Date;
  readonly outcome?: Outcome;
  readonly withdrawnBecause?: string;
}

/** What becomes of an approval that was found, for those who asked for it. */
export type Show<View> = (at: RunContext, found: FoundApproval) => Promise<View>;

/** An approval as it is now: past its deadline it is EXPIRED, though nobody may have written that yet. */
export async function viewApproval(at: RunContext, id: string): Promise<ApprovalView> {
  return viewOf(at, await findApproval(at, id));
}

/** The same of one that was read. */
export const viewOf: Show<ApprovalView> = async (at, found) => {
  const sealing = await found.sealing();
  const { title, show, facts, changed } = await openApproval(at, sealing, found.approval);
  return { ...termsOf(at, sealing, found), title, show, facts, ...present({ changed }) };
};

/** All of an approval but what is shown. */
export function termsOf(
  at: RunContext,
  sealing: Sealing,
  { approval }: FoundApproval,
): Omit<ApprovalView, keyof ApprovalContent> {
  const meta = asOf(approval.meta, at.now());
  const { agent, name, ask, status, shown, approvers, quorum, editable, outcome, withdrawnBecause } = meta;
  return {
    ...{ tenant: at.tenant, run: at.run, id: approval.id, name, ask, status, shown },
    ...{ approvers, quorum, askedAt: new Date(meta.askedAt), editable, votes: votesOf(at, sealing, approval) },
    ...present({ agent, outcome, withdrawnBecause }),
    ...present({ deadline: dateOf(meta.deadline), endedAt: dateOf(meta.endedAt) }),
  };
}

const dateOf = (time: number | undefined): Date | undefined => (time === undefined ? undefined : new Date(time));
