import type { RunCipher, RunContext } from '../../checkpoints/engine.ts';
import { type ApprovalMeta, applyTimeouts, remind as reminded, withdraw as withdrawn } from '../../core/approval.ts';
import { approvalExpired, castVote, currentProposal } from '../../core/approval-votes.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { encryptVoteContent, encryptWithdrawalReason, hashProposal, type VoteContent } from './approval-content.ts';
import { readCarriedValue } from './carried-value.ts';
import { type ChangedApproval, changeApproval } from './change-approval.ts';
import { checkDecision, checkShownHash, checkVotesSize, type DecideInput } from './decide-input.ts';
import { type FoundApproval, findApproval } from './find-approval.ts';
import { matchVoter } from './match-voter.ts';

/**
 * Records a decision, one vote per person. An approval with changes is a proposal, which the others must approve too.
 * The vote that ends the approval wakes its run in the same transaction. The same decision again returns the recorded
 * one; a different one, and a late one, is refused. `known` is the approval if the caller has just read it, and
 * `delegatorGroups` are groups of the person whom a delegate answers for.
 */
export async function decide(
  at: RunContext,
  input: DecideInput,
  known?: FoundApproval,
  delegatorGroups?: readonly string[],
): Promise<ChangedApproval> {
  checkDecision(input);
  let expired: ApprovalMeta | undefined;
  const found = known ?? (await findApproval(at, input.approval));
  const decided = await changeApproval(found, async (current) => {
    const { meta } = current.approval;
    // One time for the whole decision: it cannot be in time here and late below.
    const time = at.now();
    const now = applyTimeouts(meta, time);
    const allowed = await matchVoter(current, now, time, input, delegatorGroups);
    // The expiry is written before the decision is refused, so that the next reader does not find it pending.
    expired = meta.status === 'PENDING' && now.status === 'EXPIRED' ? now : undefined;
    if (expired) return expired;
    const cipher = await current.cipher();
    const { by, answer = 'approve', comment } = input;
    const carried = await readCarriedValue(current, cipher, input);
    const { value: edits } = carried;
    const proposed =
      answer === 'approve' && edits !== undefined ? hashProposal(cipher, meta.contentHash, edits) : undefined;
    checkShownHash(meta, input, proposed);
    carried.check();
    const content = encryptedVoteContent(at, cipher, current.approval.stored.key, { by, comment, edits });
    const proposal = proposed ?? currentProposal(meta);
    // What an administrator states is about the person who decides, not about the one they answer for.
    const isStated = allowed.as !== undefined && allowed.for === undefined && input.membership === 'stated';
    const membership = isStated ? input.membership : undefined;
    const vote = { by, ...allowed, answer, at: time, ...omitUndefined({ content, proposal, membership }) };
    const voted = castVote(meta, vote);
    if (content !== undefined) checkVotesSize(voted);
    return voted;
  });
  if (expired) throw approvalExpired(expired);
  return decided;
}

/** Ends a pending approval and wakes its run; an approval that has ended does not change. */
export async function withdraw(at: RunContext, id: string, reason: string): Promise<ChangedApproval> {
  if (typeof reason !== 'string' || reason === '' || reason.length > MAX_REASON_CHARACTERS)
    throw invalidInput('The reason for withdrawing', `text of 1 to ${MAX_REASON_CHARACTERS} characters`, reason);
  return changeApproval(await findApproval(at, id), async ({ approval: { meta, stored }, cipher }) => {
    const current = applyTimeouts(meta, at.now());
    if (current.status !== 'PENDING') return current;
    return withdrawn(current, encryptWithdrawalReason(at, await cipher(), stored.key, reason), at.now());
  });
}

const MAX_REASON_CHARACTERS = 500;

/** Makes a reminder due now; the notify handler or the next sweep sends it. */
export async function remind(at: RunContext, id: string): Promise<ChangedApproval> {
  return changeApproval(await findApproval(at, id), ({ approval }) => {
    const now = applyTimeouts(approval.meta, at.now());
    return now.status === 'PENDING' ? { ...reminded(now, at.now()), notifyAt: at.now() } : now;
  });
}

function encryptedVoteContent(
  at: RunContext,
  cipher: RunCipher,
  key: string,
  { by, comment, edits }: VoteContent & Pick<DecideInput, 'by'>,
): string | undefined {
  const content = omitUndefined({ comment: comment === '' ? undefined : comment, edits });
  if (Object.keys(content).length === 0) return undefined;
  return encryptVoteContent(at, cipher, key, by, content);
}
