import type { RunCipher, RunContext } from '../../checkpoints/engine.ts';
import { currentProposal, shownHash } from '../../core/approval-votes.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { Decision } from '../definition/agent-context.ts';
import { readVotes } from './approval-content.ts';
import type { Approval } from './approval-meta.ts';
import { readApprovals } from './approval-records.ts';

/** Reads the decisions on approvals, by id; pending approvals have none. */
export async function readDecisions(
  at: RunContext,
  cipher: RunCipher,
  ids: readonly string[],
): Promise<ReadonlyMap<string, RecordedDecision>> {
  const decisions = new Map<string, RecordedDecision>();
  for (const approval of await readApprovals(at, ids)) {
    const decision = toDecision(at, cipher, approval);
    if (decision) decisions.set(approval.id, decision);
  }
  return decisions;
}

/**
 * The decision on an approval, as the agent gets it; undefined while the approval is pending. Only the recorded status
 * counts: the deadline may have passed on this clock while somebody decides in time by another.
 */
export function toDecision(at: RunContext, cipher: RunCipher, approval: Approval): RecordedDecision | undefined {
  const { meta } = approval;
  const { status, outcome, endedAt, requestNumber } = meta;
  if (status === 'PENDING') return undefined;
  // Without enough votes for them, proposed changes are not approved: at the deadline, the request itself is.
  const isAboutRequest = status === 'EXPIRED';
  const votes = isAboutRequest && currentProposal(meta) !== undefined ? [] : readVotes(at, cipher, approval);
  const decided = votes.filter(({ answer, counts }) => counts && (status !== 'REJECTED' || answer === 'reject'));
  const delegated = decided.flatMap(({ by, for: person }) => (person === undefined ? [] : [{ by, for: person }]));
  const comments = decided.flatMap(({ comment }) => comment ?? []);
  const isApproved = outcome === 'approve';
  return {
    ...(meta.question ? { answered: isApproved } : { approved: isApproved }),
    status,
    by: decided.map(({ by }) => by),
    ...(delegated.length > 0 && { delegated }),
    at: new Date(endedAt ?? at.now()),
    requestCount: requestNumber,
    contentHash: isAboutRequest ? meta.contentHash : shownHash(meta),
    ...(outcome === 'fail' && { fails: true }),
    ...omitUndefined({
      comment: comments.length > 0 ? comments.join('\n') : undefined,
      edits: status === 'APPROVED' ? decided.findLast(({ edits }) => edits !== undefined)?.edits : undefined,
      answer: status === 'APPROVED' ? decided.findLast(({ value }) => value !== undefined)?.value : undefined,
    }),
  };
}

/** A decision, and whether it makes the run fail (`onTimeout: 'fail'`). */
export interface RecordedDecision extends Omit<Decision, 'facts' | 'approved'> {
  /** Of an approval. */
  readonly approved?: boolean;
  /** Of a question, with the answer. */
  readonly answered?: boolean;
  readonly answer?: unknown;
  readonly fails?: true;
}
