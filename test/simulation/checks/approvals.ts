import { isDeepStrictEqual } from 'node:util';
import { scanRecords } from '../../../lambda/checkpoints/lists/scan.ts';
import type { ApprovalMeta } from '../../../lambda/core/approval.ts';
import { unescapeId } from '../../../lambda/core/ids.ts';
import { readApprovalMeta } from '../../../lambda/runtime/approvals/approval-meta.ts';
import type { RecordedDecision } from '../../../lambda/runtime/approvals/decision.ts';
import type { ApprovalEntry, Entry } from '../../../lambda/runtime/journal/entries.ts';
import type { World } from '../world.ts';
import type { EndedRun } from './history.ts';

/** Checks that no confirmed vote is lost, that no approval stays pending, and that the run acted on the decision. */
export async function checkApprovals(world: World, ended: EndedRun): Promise<void> {
  const { run, at, versions } = ended;
  const approvals = new Map<string, ApprovalMeta>();
  for await (const stored of scanRecords(at, { from: 'a', to: 'a~' }))
    approvals.set(unescapeId(stored.key.slice(1)), readApprovalMeta(stored));
  for (const [id, meta] of approvals) {
    const report = (what: string) => world.addFinding(`approval ${id} of run ${run} is ${meta.status}: ${what}`);
    const voters = meta.votes.map(({ by }) => by);
    const approving = meta.votes.filter(({ answer }) => answer === 'approve').length;
    if (meta.status === 'PENDING') report('it was never settled');
    if (new Set(voters).size < voters.length) report('an approver has two votes');
    if (meta.status === 'APPROVED' && approving < meta.quorum)
      report(`expected ${meta.quorum} votes to approve, found ${approving}`);
  }
  for (const { approval, by, answer, status, run: of } of world.ledger.votes) {
    if (of !== run) continue;
    const meta = approvals.get(approval);
    const counts = meta?.votes.some((vote) => vote.by === by && vote.answer === answer) || meta?.outcome === answer;
    if (!counts) world.addFinding(`approval ${approval} of run ${run}: the confirmed vote of ${by} is lost`);
    if (status !== 'PENDING' && status !== meta?.status)
      world.addFinding(`approval ${approval} of run ${run}: ${by} received ${status}, but it is ${meta?.status}`);
  }
  for (const { entries } of versions)
    for (const [id, entry] of entries) checkOutcome(world, run, id, entry, entries, approvals);
}

function checkOutcome(
  world: World,
  run: string,
  id: string,
  entry: Entry,
  entries: ReadonlyMap<string, Entry>,
  approvals: ReadonlyMap<string, ApprovalMeta>,
): void {
  if (entry.kind !== 'approval' || !Object.hasOwn(entry, 'value')) return;
  const { status } = entry.value as RecordedDecision;
  const meta = approvals.get(entry.approval ?? '');
  const rechecked = entries.get(`${entry.approval}/recheck`)?.value;
  const problem = meta ? outcomeProblem(entry, meta, rechecked) : 'the approval is not stored';
  if (problem) world.addFinding(`"${id}" of run ${run} acts on ${status}: ${problem}`);
}

/** Why the recorded decision of an operation does not match its approval; undefined if it does. */
function outcomeProblem(
  { value, facts, rechecks }: ApprovalEntry,
  meta: ApprovalMeta,
  rechecked: unknown,
): string | undefined {
  const { status, approved, by } = value as RecordedDecision;
  if (status === 'CHANGED') return undefined;
  if (status !== meta.status) return `the approval is ${meta.status}`;
  if (approved !== (meta.outcome === 'approve')) return `the outcome is ${meta.outcome}`;
  const voters = meta.votes.filter(({ answer }) => status !== 'REJECTED' || answer === 'reject').map((vote) => vote.by);
  if (!isDeepStrictEqual(by, voters)) return `it names ${by.join()}, but ${voters.join()} voted`;
  const factsMatch = !approved || !rechecks || isDeepStrictEqual(rechecked, facts);
  return factsMatch ? undefined : `its facts are ${JSON.stringify(facts)}, rechecked ${JSON.stringify(rechecked)}`;
}
