import { type ApprovalMeta, isGroup, type NotificationKind } from '../../../lambda/core/approval.ts';
import { hasVoted } from '../../../lambda/core/approval-votes.ts';
import type { ApprovalNotification } from '../../../lambda/runtime/definition/approval-notification.ts';
import type { Process } from '../process.ts';
import type { World } from '../world.ts';

/** A moment from which approvers must be notified of something. */
interface Moment {
  readonly kind: NotificationKind;
  readonly since: number;
  /** Whether a notification that was made of this approval and sent at this time is about it. */
  readonly isMetBy: (content: ApprovalMeta, sentAt: number) => boolean;
}

/** An approval whose approvers must be notified. */
interface WatchedApproval {
  meta: ApprovalMeta;
  readonly moments: Moment[];
  nextReminder: number;
  isEscalationDue: boolean;
  /** The approval as each process read it when it began to notify. */
  readonly contents: Map<string, readonly ApprovalMeta[]>;
  /** When the next attempt is due after one of a process that has the agent. */
  retryAt: number;
}

/** How often processes sweep at least, if something is due. */
const SWEEP_MS = 60_000;

/** How exactly processes know the time, and how long a sweep and a notification take without faults. */
const SLACK_MS = 60_000;

/** Checks that approvers are notified within a bounded time once a process that has the agent is alive. */
export class NotificationCheck {
  readonly #world: World;
  readonly #approvals = new Map<string, WatchedApproval>();
  readonly #capable = new Map<string, Set<Process>>();
  /** Since when each agent has a process that can notify, not counting the time of faults. */
  readonly #availableSince = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** A process that has these agents begins to sweep regularly. */
  add(process: Process, agents: readonly string[]): void {
    if (!process.canSweep) return;
    for (const agent of agents) {
      const capable = this.#capable.get(agent) ?? new Set();
      if (capable.size === 0) this.#delay(agent, this.#world.timeline.now);
      this.#capable.set(agent, capable.add(process));
    }
  }

  /** A process no longer sweeps. */
  remove(process: Process): void {
    for (const [agent, capable] of this.#capable)
      if (capable.delete(process)) this.#delay(agent, process.disturbedUntil);
  }

  #delay(agent: string, until: number): void {
    this.#availableSince.set(agent, Math.max(this.#availableSince.get(agent) ?? -Infinity, until));
  }

  /** Somebody asked for a reminder. */
  reminded(run: string, approval: string): void {
    const since = this.#world.timeline.now;
    this.#approvals.get(`${run} ${approval}`)?.moments.push(reminderAt(since));
  }

  /** An approval is stored. */
  see(run: string, approval: string, meta: ApprovalMeta, by: Process | undefined): void {
    const key = `${run} ${approval}`;
    const { now } = this.#world.timeline;
    const watched = this.#approvals.get(key) ?? createWatched(meta, now);
    if (!this.#approvals.has(key)) this.#approvals.set(key, watched);
    const before = watched.meta;
    watched.meta = meta;
    this.#addDue(watched, now);
    for (const [index, { proposes }] of meta.votes.entries())
      if (index >= before.votes.length && proposes && meta.status === 'PENDING')
        watched.moments.push({ kind: 'proposed', since: now, isMetBy: ({ votes }) => votes.length > index });
    const isAttempt = meta.notifyAttempts !== undefined && meta.notifyAt !== before.notifyAt;
    if (isAttempt && by?.knows(meta.agent ?? '')) {
      watched.contents.set(by.name, [meta, ...(watched.contents.get(by.name) ?? [])]);
      watched.retryAt = meta.notifyAt ?? now;
    }
    if (meta.status === 'PENDING') return;
    this.#checkLate(run, approval, watched, now);
    watched.moments.length = 0;
  }

  /** A process has notified approvers. */
  sent(process: Process, { run, approval, links }: ApprovalNotification): void {
    const watched = this.#approvals.get(`${run} ${approval}`);
    const attempts = watched?.contents.get(process.name) ?? [];
    const missingIn = (meta: ApprovalMeta) =>
      meta.approvers.filter(
        (each) => !isGroup(each) && !hasVoted(meta, each) && !links.some(({ person }) => person === each),
      );
    // A process that pauses can send an earlier notification after a later one.
    const content = attempts.find((attempt) => missingIn(attempt).length === 0) ?? attempts[0];
    if (!watched || !content) {
      this.#world.addFinding(`${process.name} notifies of ${approval} of run ${run} without recording it`);
      return;
    }
    const { now } = this.#world.timeline;
    if (watched.meta.status === 'PENDING') {
      this.#addDue(watched, now);
      this.#checkLate(run, approval, watched, now);
    }
    const open = watched.moments.filter(({ isMetBy }) => !isMetBy(content, now));
    watched.moments.splice(0, watched.moments.length, ...open);
    if (attempts.length > 1)
      watched.contents.set(
        process.name,
        attempts.filter((each) => each !== content),
      );
    const missing = missingIn(content);
    if (missing.length > 0)
      this.#world.addFinding(`a notification of ${approval} of run ${run} has no link for ${missing.join(', ')}`);
  }

  /** Adds the reminders and the escalation that are due by now. */
  #addDue(watched: WatchedApproval, now: number): void {
    const { meta, moments } = watched;
    const {
      requestedAt,
      remindAfterMs = Infinity,
      escalateTo,
      escalateAfterMs,
      onTimeout,
      timeoutMs = Infinity,
    } = meta;
    const end = Math.min(now, meta.endedAt ?? now);
    for (; requestedAt + watched.nextReminder * remindAfterMs <= end; watched.nextReminder++)
      moments.push(reminderAt(requestedAt + watched.nextReminder * remindAfterMs));
    const escalateAt = requestedAt + (escalateAfterMs ?? (onTimeout === 'escalate' ? timeoutMs : Infinity));
    if (!escalateTo || watched.isEscalationDue || escalateAt > end) return;
    watched.isEscalationDue = true;
    moments.push({ kind: 'escalated', since: escalateAt, isMetBy: ({ escalatedAt }) => escalatedAt !== undefined });
  }

  #checkLate(run: string, approval: string, { meta, moments, retryAt }: WatchedApproval, now: number): void {
    const availableSince = this.#availableFrom(meta.agent ?? '');
    const boundMs = 2 * SWEEP_MS + this.#world.faults.lagMs + SLACK_MS;
    for (const { kind, since } of moments) {
      const lateMs = now - Math.max(since, availableSince, retryAt) - boundMs;
      if (lateMs > 0)
        this.#world.addFinding(
          `approvers of ${approval} of run ${run} are notified (${kind}) ${Math.round(lateMs / 1000)} s too late`,
        );
    }
  }

  /** Since when a process could notify, faults aside; Infinity if none can. */
  #availableFrom(agent: string): number {
    const capable = [...(this.#capable.get(agent) ?? [])];
    if (capable.length === 0) return Infinity;
    return Math.max(this.#availableSince.get(agent) ?? -Infinity, ...capable.map((each) => each.disturbedUntil));
  }
}

const createWatched = (meta: ApprovalMeta, now: number): WatchedApproval => ({
  meta,
  moments: [{ kind: 'requested', since: now, isMetBy: () => true }],
  nextReminder: 1,
  isEscalationDue: false,
  contents: new Map(),
  retryAt: -Infinity,
});

/** A reminder; a notification that is sent after it was due serves as one. */
const reminderAt = (since: number): Moment => ({ kind: 'reminder', since, isMetBy: (_, sentAt) => sentAt >= since });
