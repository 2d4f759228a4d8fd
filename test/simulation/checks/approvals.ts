import { isDeepStrictEqual } from 'node:util';
import { plaintext } from '../../../lambda/checkpoints/encryption/run-cipher.ts';
import type { ApprovalMeta } from '../../../lambda/core/approval.ts';
import type { VoteView } from '../../../lambda/runtime/approvals/approval-content.ts';
import { readVotes } from '../../../lambda/runtime/approvals/approval-content.ts';
import { readAllApprovals } from '../../../lambda/runtime/approvals/approval-records.ts';
import type { RecordedDecision } from '../../../lambda/runtime/approvals/decision.ts';
import type { ApprovalEntry, Entry } from '../../../lambda/runtime/journal/entries.ts';
import { type Ballot, describeEdits } from '../ledger.ts';
import type { World } from '../world.ts';
import type { EndedRun } from './history.ts';

/** An approval at the end of the simulation. */
interface EndedApproval {
  readonly id: string;
  readonly meta: ApprovalMeta;
  readonly votes: readonly VoteView[];
  /** The votes that people sent. */
  readonly ballots: readonly Ballot[];
}

/** Checks that no confirmed vote is lost, that no approval stays pending, and that the run acted on the decision. */
export async function checkApprovals(world: World, { run, at, versions }: EndedRun): Promise<void> {
  const approvals = new Map<string, EndedApproval>();
  for (const stored of await readAllApprovals(at)) {
    const { id, meta } = stored;
    const ballots = world.ledger.ballots.filter((ballot) => ballot.run === run && ballot.approval === id);
    approvals.set(id, { id, meta, votes: readVotes(at, plaintext, stored), ballots });
  }
  for (const approval of approvals.values()) {
    const problem = approvalProblem(approval);
    if (problem) world.addFinding(`approval ${approval.id} of run ${run} is ${approval.meta.status}: ${problem}`);
  }
  for (const vote of world.ledger.votes) {
    const { approval, by, run: of } = vote;
    const problem = of === run ? confirmedProblem(vote, approvals.get(approval)) : undefined;
    if (problem) world.addFinding(`approval ${approval} of run ${run}: ${by} ${problem}`);
  }
  for (const { entries } of versions)
    for (const [id, entry] of entries) checkOutcome(world, run, id, entry, entries, approvals);
}

/** Why the votes of an approval do not lead to its status. */
function approvalProblem({ meta, votes }: EndedApproval): string | undefined {
  const counting = votes.filter(({ counts }) => counts).map(({ by }) => by);
  if (meta.status === 'PENDING') return 'it was never settled';
  if (new Set(counting).size < counting.length) return 'an approver has two votes that count';
  return undefined;
}

/** Why a vote that was confirmed does not count, and nothing else explains it. */
function confirmedProblem(
  { by, answer, about, status }: World['ledger']['votes'][number],
  approval: EndedApproval | undefined,
): string | undefined {
  if (!approval) return 'voted on an approval that is not stored';
  const { meta, votes } = approval;
  const isStored = votes.some((vote, i) => vote.by === by && vote.answer === answer && aboutAt(votes, i) === about);
  // A vote for the outcome that was already reached is confirmed and changes nothing.
  const isRedundant = status !== 'PENDING' && meta.outcome === answer;
  // After the end, a decision with the answer of one's own vote is a repetition, and gets what is recorded.
  const isRepeated = status !== 'PENDING' && votes.some((vote) => vote.by === by && vote.answer === answer);
  if (!isStored && !isRedundant && !isRepeated)
    return `has a confirmed vote to ${answer} with ${about}, and it is lost`;
  return status === 'PENDING' || status === meta.status ? undefined : `received ${status}, but it is ${meta.status}`;
}

/** What a vote is about: the changes that it proposes, or the newest ones before it. */
const aboutAt = (votes: readonly VoteView[], index: number): string =>
  describeEdits(votes.slice(0, index + 1).findLast(({ answer, edits }) => answer === 'approve' && edits)?.edits);

function checkOutcome(
  world: World,
  run: string,
  id: string,
  entry: Entry,
  entries: ReadonlyMap<string, Entry>,
  approvals: ReadonlyMap<string, EndedApproval>,
): void {
  if (entry.kind !== 'approval' || !Object.hasOwn(entry, 'value')) return;
  const { status } = entry.value as RecordedDecision;
  const approval = approvals.get(entry.approval ?? '');
  const rechecked = entries.get(`${entry.approval}/recheck`)?.value;
  const problem = approval ? outcomeProblem(world, run, entry, approval, rechecked) : 'the approval is not stored';
  if (problem) world.addFinding(`"${id}" of run ${run} acts on ${status}: ${problem}`);
}

/** Why the recorded decision of an operation does not match its approval; undefined if it does. */
function outcomeProblem(
  world: World,
  run: string,
  { value, facts }: ApprovalEntry,
  approval: EndedApproval,
  rechecked: unknown,
): string | undefined {
  const { id, meta } = approval;
  const decision = value as RecordedDecision;
  const { status, approved, contentHash } = decision;
  if (status === 'CHANGED') return undefined;
  if (status !== meta.status) return `the approval is ${meta.status}`;
  if (approved !== (meta.outcome === 'approve')) return `the outcome is ${meta.outcome}`;
  const shown = world.ledger.shown.get(`${run} ${id} ${contentHash}`);
  if (approved && shown !== undefined && shown !== describeEdits(decision.edits))
    return `its hash is that of the request with ${shown}`;
  const problem = votersProblem(decision, approval);
  if (problem) return problem;
  const factsMatch = !approved || !Object(facts).isRechecked || isDeepStrictEqual(rechecked, facts);
  return factsMatch ? undefined : `its facts are ${JSON.stringify(facts)}, rechecked ${JSON.stringify(rechecked)}`;
}

/** Why the people whom a decision names did not make it: each must have decided on exactly what they saw. */
function votersProblem({ status, by, edits }: RecordedDecision, { meta, ballots }: EndedApproval): string | undefined {
  const answer = status === 'REJECTED' ? 'reject' : 'approve';
  const about = describeEdits(edits);
  const people = new Set(by);
  if (people.size < by.length) return `it names ${by.join(', ')}`;
  if (status === 'APPROVED' && people.size < meta.quorum)
    return `expected ${meta.quorum} people to approve, found ${by.join(', ')}`;
  if (status === 'REJECTED' && people.size !== 1) return `expected one person to reject, found ${by.join(', ')}`;
  if (status === 'WITHDRAWN') return undefined;
  const other = by.find(
    (person) =>
      !ballots.some(
        (sent) => sent.by === person && sent.answer === answer && (answer === 'reject' || sent.about === about),
      ),
  );
  return other === undefined ? undefined : `it names ${other}, who did not ${answer} the request with ${about}`;
}
