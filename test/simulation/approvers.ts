import { type ApprovalMeta, isGroup, type Person } from '../../lambda/core/approval.ts';
import { type ErrorCode, isWaitstateError } from '../../lambda/core/errors.ts';
import type { DecideInput } from '../../lambda/runtime/approvals/decide-input.ts';
import type { ApprovalView } from '../../lambda/runtime/approvals/view.ts';
import type { ApprovalNotification } from '../../lambda/runtime/definition/approval-notification.ts';
import type { Agents } from './agents.ts';
import { EDITS } from './approval-move.ts';
import type { Chance } from './chance.ts';
import { type Ballot, describeEdits } from './ledger.ts';
import type { Tasks } from './tasks.ts';
import type { World } from './world.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const OUTSIDER = 'user:mal';
const MAX_LOOKS = 5;

/** An approval that people were asked to decide. */
export interface RequestedApproval {
  readonly run: string;
  readonly agent: string;
  readonly approval: string;
  readonly meta: ApprovalMeta;
}

/** How a person votes. */
interface Voter extends RequestedApproval {
  readonly by: Person;
  readonly answer: 'approve' | 'reject';
  readonly edits?: unknown;
  /** How often they looked at the approval. */
  readonly looks: number;
}

/** What a person saw of an approval. */
type Sight = Pick<ApprovalView, 'contentHash' | 'proposal'>;

/** The people who decide approvals: they look, think, propose changes, and decide on what they saw, perhaps too late. */
export class Approvers {
  readonly #world: World;
  readonly #tasks: Tasks;
  readonly #chance: Chance;
  readonly #requested = new Map<string, RequestedApproval>();

  constructor(world: World, tasks: Tasks) {
    this.#world = world;
    this.#tasks = tasks;
    this.#chance = world.chance;
  }

  /** Plans who decides an approval. If it has no deadline, people decide it in the end. */
  decide(requested: RequestedApproval): void {
    const { meta, run, approval } = requested;
    this.#requested.set(`${run} ${approval}`, requested);
    const chance = this.#chance;
    const people = this.#candidates(meta.approvers);
    const expires = meta.deadline !== undefined;
    const count = expires ? chance.between(0, people.length) : chance.between(meta.quorum, people.length);
    const isConcurrent = chance.happens(0.5);
    const first = chance.between(100, 90 * MINUTE);
    const vote = (by: Person) => {
      const after = isConcurrent ? first + chance.between(0, 30) : chance.between(100, 120 * MINUTE);
      this.#look(this.#createVoter(requested, by), after);
    };
    for (const by of chance.shuffled(people).slice(0, count)) vote(by);
    if (chance.happens(0.15)) vote(OUTSIDER);
    if (meta.escalateTo && chance.happens(0.7)) {
      const [by = OUTSIDER] = chance.shuffled(this.#candidates(meta.escalateTo));
      this.#look(this.#createVoter(requested, by), chance.between(30 * MINUTE, 5 * HOUR));
    }
    if (chance.happens(0.04)) this.#withdraw(requested, chance.between(0, 120 * MINUTE));
    if (chance.happens(0.08)) this.#remind(requested, chance.between(0, 120 * MINUTE));
    if (!expires) this.#settle(requested, [...people, ...people], chance.between(120, 180) * MINUTE);
  }

  /** Some of those who are notified of proposed changes decide soon, and may propose others. */
  notified({ kind, run, approval, links }: ApprovalNotification): void {
    const requested = this.#requested.get(`${run} ${approval}`);
    if (kind !== 'proposed' || !requested) return;
    for (const { person } of links)
      if (this.#chance.happens(0.4))
        this.#look(this.#createVoter(requested, person), this.#chance.between(0, this.#chance.one([500, 20 * MINUTE])));
  }

  /** The people among these approvers, and everybody who is or was in their groups. */
  #candidates(approvers: readonly string[]): readonly Person[] {
    const named = approvers.filter((approver) => !isGroup(approver)) as Person[];
    return [...new Set([...named, ...this.#world.groups.candidates(approvers)])];
  }

  #createVoter(requested: RequestedApproval, by: Person): Voter {
    const chance = this.#chance;
    const answer = chance.happens(0.85) ? 'approve' : 'reject';
    const proposes = requested.meta.editable && answer === 'approve' && chance.happens(0.4);
    return { ...requested, by, answer, looks: 0, ...(proposes && { edits: chance.one<unknown>(EDITS) }) };
  }

  /** Looks at an approval; decides on it a moment or an hour later, perhaps twice. */
  #look(voter: Voter, after: number): void {
    const chance = this.#chance;
    this.#tasks.later(after, {
      name: voter.by.slice(5),
      act: async (agents) => {
        const sight = await this.#view(agents, voter);
        if (!sight) return;
        const decideAfter = chance.between(0, chance.one([30, 30, 2_000, 60 * MINUTE]));
        for (let clicks = chance.happens(0.15) ? 2 : 1; clicks > 0; clicks--)
          this.#cast(voter, sight, decideAfter + clicks);
      },
    });
  }

  async #view(agents: Agents, { run, approval, by }: Voter): Promise<Sight | undefined> {
    const { ledger, addFinding } = this.#world;
    const link = this.#chance.happens(0.5) ? ledger.links.get(`${run} ${approval} ${by}`) : undefined;
    const view = await (link ? agents.portal.viewByToken(link) : agents.portal.view(run, approval));
    if (view.status !== 'PENDING') return undefined;
    const { contentHash, proposal } = view;
    const key = `${run} ${approval} ${contentHash}`;
    const about = describeEdits(proposal?.edits);
    const before = ledger.shown.get(key) ?? about;
    ledger.shown.set(key, about);
    if (before !== about) addFinding(`approval ${approval} of run ${run} has one hash for ${before} and ${about}`);
    return { contentHash, ...(proposal && { proposal }) };
  }

  #cast(voter: Voter, sight: Sight, after: number): void {
    const { ledger } = this.#world;
    const { run, approval, by, answer, edits } = voter;
    const chance = this.#chance;
    const contentHash = chance.happens(0.85) ? { contentHash: sight.contentHash } : {};
    const input = { approval, by, answer, ...contentHash, ...(edits !== undefined && { edits }) };
    const about = describeEdits(edits ?? sight.proposal?.edits);
    this.#tasks.later(after, {
      name: by.slice(5),
      act: async (agents) => {
        const groups = chance.happens(0.7) ? this.#world.groups.of(by) : [];
        const ballot = { run, approval, by, answer, about, groups };
        ledger.ballots.push(ballot);
        try {
          const { status } = await this.#send(agents, ballot, { ...input, groups });
          ledger.votes.push({ ...ballot, status });
        } catch (error) {
          this.#refused(voter, ballot, error);
        }
      },
    });
  }

  #send(agents: Agents, { run, approval, by }: Ballot, input: DecideInput): Promise<ApprovalView> {
    const link = this.#chance.happens(0.5) ? this.#world.ledger.links.get(`${run} ${approval} ${by}`) : undefined;
    const { answer = 'approve', contentHash, edits } = input;
    return link === undefined
      ? agents.portal.decide(run, input)
      : agents.portal.decideByToken(link, { answer, contentHash, edits });
  }

  /** Some look again if the approval has changed. Nobody may be refused whom the request or their login names. */
  #refused(voter: Voter, { by, groups }: Ballot, error: unknown): void {
    const { meta, approval, run } = voter;
    if (isStale(error)) {
      const looks = voter.looks + 1;
      if (looks < MAX_LOOKS && this.#chance.happens(0.7))
        this.#look({ ...voter, looks }, this.#chance.between(0, this.#chance.one([100, 20 * MINUTE])));
      return;
    }
    if (isWaitstateError(error, 'NOT_AN_APPROVER')) {
      const isApprover = meta.approvers.some((approver) => approver === by || groups.includes(approver));
      if (isApprover) this.#world.addFinding(`${by} is refused as an approver of ${approval} of run ${run}`);
      return;
    }
    if (!isWaitstateError(error, ...ENDED)) throw error;
  }

  /** Lets people approve what they see, one after the other, until the approval has ended; the last one withdraws it. */
  #settle(requested: RequestedApproval, [by, ...rest]: readonly Person[], after: number): void {
    if (!by) {
      this.#withdraw(requested, after);
      return;
    }
    const voter: Voter = { ...requested, by, answer: 'approve', looks: MAX_LOOKS };
    this.#tasks.later(after, {
      name: by.slice(5),
      act: async (agents) => {
        const sight = await this.#view(agents, voter);
        if (!sight) return;
        this.#cast(voter, sight, 0);
        this.#settle(requested, rest, this.#chance.between(10_000, 5 * MINUTE));
      },
    });
  }

  #withdraw({ run, approval }: RequestedApproval, after: number): void {
    this.#tasks.later(after, {
      name: 'withdrawer',
      act: async (agents) => void (await agents.portal.withdraw(run, approval, 'The simulation wants it.')),
    });
  }

  #remind({ run, approval }: RequestedApproval, after: number): void {
    this.#tasks.later(after, {
      name: 'reminder',
      act: async (agents) => {
        const { status } = await agents.portal.remind(run, approval);
        if (status === 'PENDING') this.#world.notifications.reminded(run, approval);
      },
    });
  }
}

/** Whether a decision was refused because something else is shown now, or because of too many proposals. */
const isStale = (error: unknown): boolean =>
  isWaitstateError(error, 'APPROVAL_CHANGED') ||
  (isWaitstateError(error, 'INVALID_INPUT') &&
    /proposed changes: load the approval|changes were proposed already/.test(error.message));

const ENDED: readonly [ErrorCode, ...ErrorCode[]] = ['APPROVAL_DECIDED', 'APPROVAL_EXPIRED', 'APPROVAL_WITHDRAWN'];
