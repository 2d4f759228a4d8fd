import { isDeepStrictEqual } from 'node:util';
import type { ApprovalMeta, GroupMembers, Vote } from '../../../lambda/core/approval.ts';
import type { Process } from '../process.ts';
import type { World } from '../world.ts';

/** What the check of votes knows of an approval. */
interface KnownApproval {
  /** The approval as it was requested. */
  readonly requested: ApprovalMeta;
  votes: number;
  /** The members of its groups, as the agent's hook listed them last. */
  members: string | undefined;
}

/** Checks each vote when it is stored: its voter must be an approver at that time. */
export class VoteCheck {
  readonly #world: World;
  readonly #approvals = new Map<string, KnownApproval>();

  constructor(world: World) {
    this.#world = world;
  }

  see(run: string, approval: string, meta: ApprovalMeta, by: Process | undefined): void {
    const key = `${run} ${approval}`;
    const known = this.#approvals.get(key) ?? { requested: meta, votes: 0, members: undefined };
    this.#approvals.set(key, known);
    for (const vote of meta.votes.slice(known.votes)) {
      const problem = this.#voterProblem(run, approval, known, meta, vote);
      if (problem) this.#world.addFinding(`approval ${approval} of run ${run} has a vote of ${vote.by}, ${problem}`);
    }
    known.votes = meta.votes.length;
    if (meta.members === undefined || meta.members === known.members) return;
    known.members = meta.members;
    const listed = this.#world.ledger.listed.get(by?.name ?? '');
    const stored: GroupMembers = JSON.parse(meta.members);
    for (const [group, members] of Object.entries(stored))
      if (!isDeepStrictEqual(members, listed?.[group]))
        this.#world.addFinding(`approval ${approval} of run ${run} has members of ${group} that were not listed`);
  }

  #voterProblem(
    run: string,
    approval: string,
    { requested, members }: KnownApproval,
    { escalatedAt }: ApprovalMeta,
    { by, as, answer }: Vote,
  ): string | undefined {
    const approvers: readonly string[] = [
      ...requested.approvers,
      ...(escalatedAt === undefined ? [] : (requested.escalateTo ?? [])),
    ];
    const sent = this.#world.ledger.ballots.filter(
      (ballot) => ballot.run === run && ballot.approval === approval && ballot.by === by && ballot.answer === answer,
    );
    if (sent.length === 0) return 'who sent none';
    if (as === undefined) return approvers.includes(by) ? undefined : 'who is not an approver';
    if (!approvers.includes(as)) return `who votes for ${as}, which is not an approver`;
    if (sent.some(({ groups }) => groups.includes(as))) return undefined;
    const listed: GroupMembers = members === undefined ? {} : JSON.parse(members);
    if (listed[as]) return listed[as].includes(by) ? undefined : `who does not belong to ${as}`;
    return requested.openGroups ? undefined : `who is not known to belong to ${as}`;
  }
}
