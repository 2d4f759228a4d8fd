import { isDeepStrictEqual } from 'node:util';
import { scanRecords } from '../../../lambda/checkpoints/scan.ts';
import type { ApprovalMeta } from '../../../lambda/core/approval.ts';
import { unescapeId } from '../../../lambda/core/ids.ts';
import { readApprovalMeta } from '../../../lambda/runtime/approvals/approval-meta.ts';
import type { RecordedDecision } from '../../../lambda/runtime/approvals/decision.ts';
import type { Entry } from '../../../lambda/runtime/journal/entries.ts';
import type { World } from '../world.ts';
import type { EndedRun } from './history.ts';

/** No vote that was confirmed is lost, no approval is open for ever, and the run acted on what was decided. */
export async function checkApprovals(world: World, ended: EndedRun): Promise<void> {
  const { run, at, versions } = ended;
  const approvals = new Map<string, ApprovalMeta>();
  for await (const stored of scanRecords(at, { from: 'a', to: 'a~' }))
    approvals.set(unescapeId(stored.key.slice(1)), readApprovalMeta(stored));
  for (const [id, meta] of approvals) {
    const wrong = (what: string) => world.wrong(`approval ${id} of run ${run} is ${meta.status}: ${what}`);
    const voters = meta.votes.map(({ by }) => by);
    const approving = meta.votes.filter(({ answer }) => answer === 'approve').length;
    if (meta.status === 'PENDING') wrong('nobody ended it');
    if (new Set(voters).size < voters.length) wrong('somebody voted twice');
    if (meta.status === 'APPROVED' && approving < meta.quorum) wrong(`${approving} approved, ${meta.quorum} must`);
  }
  for (const { approval, by, answer, status, run: of } of world.ledger.answers) {
    if (of !== run) continue;
    const meta = approvals.get(approval);
    const counts = meta?.votes.some((vote) => vote.by === by && vote.answer === answer) || meta?.outcome === answer;
    if (!counts) world.wrong(`approval ${approval} of run ${run}: the answer of ${by} was confirmed and is lost`);
    if (status !== 'PENDING' && status !== meta?.status)
      world.wrong(`approval ${approval} of run ${run}: ${by} was told ${status}, and it is ${meta?.status}`);
  }
  for (const { entries } of versions)
    for (const [id, entry] of entries) checkActed(world, run, id, entry, entries, approvals);
}

function checkActed(
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
  const checked = entries.get(`${entry.approval}/recheck`)?.value;
  const problem = meta ? problemOf(entry, meta, checked) : 'there is no such approval';
  if (problem) world.wrong(`"${id}" of run ${run} acts on ${status}: ${problem}`);
}

/** What was approved is what is done. */
function problemOf({ value, facts, rechecks }: Entry, meta: ApprovalMeta, checked: unknown): string | undefined {
  const { status, approved, by } = value as RecordedDecision;
  if (status === 'CHANGED') return undefined;
  if (status !== meta.status) return `the approval is ${meta.status}`;
  if (approved !== (meta.outcome === 'approve')) return `the outcome is ${meta.outcome}`;
  const voted = meta.votes.filter(({ answer }) => status !== 'REJECTED' || answer === 'reject').map((vote) => vote.by);
  if (!isDeepStrictEqual(by, voted)) return `by ${by.join()}, but ${voted.join()} voted`;
  const held = !approved || !rechecks || isDeepStrictEqual(checked, facts);
  return held ? undefined : `on the facts ${JSON.stringify(facts)}, which are ${JSON.stringify(checked)}`;
}
