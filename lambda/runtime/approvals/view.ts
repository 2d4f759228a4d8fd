import type { RunCipher, RunContext } from '../../checkpoints/engine.ts';
import { type ApprovalOutcome, type ApprovalStatus, applyTimeouts } from '../../core/approval.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { type ApprovalContent, readApprovalContent, readVotes, type VoteView } from './approval-content.ts';
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
  readonly votes: readonly VoteView[];
  readonly endedAt?: Date;
  readonly outcome?: ApprovalOutcome;
  readonly withdrawnBecause?: string;
}

/** What becomes of an approval that was found, for those who asked for it. */
export type Show<View> = (at: RunContext, found: FoundApproval) => Promise<View>;

/** An approval as it is now: past its deadline it is EXPIRED, though nobody may have written that yet. */
export async function viewApproval(at: RunContext, id: string): Promise<ApprovalView> {
  return toApprovalView(at, await findApproval(at, id));
}

/** The same of one that was read. */
export const toApprovalView: Show<ApprovalView> = async (at, found) => {
  const cipher = await found.cipher();
  const { title, show, facts, changed } = await readApprovalContent(at, cipher, found.approval);
  return { ...toApprovalTerms(at, cipher, found), title, show, facts, ...omitUndefined({ changed }) };
};

/** All of an approval but what is shown. */
export function toApprovalTerms(
  at: RunContext,
  cipher: RunCipher,
  { approval }: FoundApproval,
): Omit<ApprovalView, keyof ApprovalContent> {
  const meta = applyTimeouts(approval.meta, at.now());
  const { agent, name, ask, status, shown, approvers, quorum, editable, outcome, withdrawnBecause } = meta;
  return {
    ...{ tenant: at.tenant, run: at.run, id: approval.id, name, ask, status, shown },
    ...{ approvers, quorum, askedAt: new Date(meta.askedAt), editable, votes: readVotes(at, cipher, approval) },
    ...omitUndefined({ agent, outcome, withdrawnBecause }),
    ...omitUndefined({ deadline: dateOf(meta.deadline), endedAt: dateOf(meta.endedAt) }),
  };
}

const dateOf = (time: number | undefined): Date | undefined => (time === undefined ? undefined : new Date(time));
