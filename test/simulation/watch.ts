import type { HeadMeta } from '../../lambda/checkpoints/format/meta.ts';
import { readHead } from '../../lambda/checkpoints/format/records.ts';
import type { ApprovalMeta } from '../../lambda/core/approval.ts';
import { parsePartition, toPartition } from '../../lambda/core/ids.ts';
import { hasEnded } from '../../lambda/core/status.ts';
import { readApprovalMeta } from '../../lambda/runtime/approvals/approval-meta.ts';
import { HEAD_KEY } from '../../lambda/storage/keys.ts';
import type { Write } from '../../lambda/storage/ports.ts';
import type { RequestedApproval } from './approvers.ts';
import { checkClaimTime, checkRequestTime, checkStartTime } from './checks/clocks.ts';
import { VoteCheck } from './checks/votes.ts';
import type { Deliveries } from './deliveries.ts';
import type { Process } from './process.ts';
import { keyOf } from './truth.ts';
import type { World } from './world.ts';

/** Called when a run changes in a way that people react to. */
export interface RunListener {
  started(run: string, head: HeadMeta): void;
  ending(run: string, head: HeadMeta): void;
  failed(run: string, head: HeadMeta): void;
  requested(approval: RequestedApproval): void;
  /** An approval that is pending has a notification that no process sends yet. */
  notifiable(approval: RequestedApproval): void;
}

/** Observes each commit: calls the listener, tracks due times, and checks invariants. */
export class Watch {
  /** The newest head of each run. */
  readonly heads = new Map<string, HeadMeta>();
  readonly #world: World;
  readonly #deliveries: Deliveries;
  readonly #listener: RunListener;
  readonly #due = new Map<string, number>();
  readonly #pending = new Map<string, Set<string>>();
  readonly #votes: VoteCheck;

  constructor(world: World, deliveries: Deliveries, listener: RunListener) {
    this.#world = world;
    this.#deliveries = deliveries;
    this.#listener = listener;
    this.#votes = new VoteCheck(world);
  }

  /** The earliest due time; undefined if nothing is due. */
  get nextDue(): number | undefined {
    const next = Math.min(...this.#due.values());
    return next === Infinity ? undefined : next;
  }

  /** When a worker has something to do next: at once if a run is READY. */
  get nextWork(): number | undefined {
    for (const head of this.heads.values()) if (isReady(head)) return 0;
    return this.nextDue;
  }

  get allEnded(): boolean {
    return [...this.heads.values()].every(({ status }) => hasEnded(status));
  }

  async see(writes: readonly Write[], by: Process): Promise<void> {
    const touched = new Set<string>();
    for (const write of writes) this.#checkParentWoken(write, writes);
    for (const write of writes) {
      const { partition, key } = keyOf(write);
      const recordName = `${partition} ${key}`;
      const order = 'put' in write ? write.put.lists?.due?.order : undefined;
      if (order === undefined) this.#due.delete(recordName);
      else this.#due.set(recordName, Number(order));
      if (partition.includes('@')) continue;
      if (key === HEAD_KEY && 'put' in write) this.#head(partition, readHead(write.put).meta);
      if (key.startsWith('a') && 'put' in write) this.#approval(partition, key, readApprovalMeta(write.put), by);
      if (key === HEAD_KEY || key.startsWith('a')) touched.add(partition);
    }
    for (const partition of touched) this.#checkApprovals(partition);
  }

  /** Checks that the commit that ends a child run also wakes up its parent. */
  #checkParentWoken(write: Write, writes: readonly Write[]): void {
    const { partition, key } = keyOf(write);
    if (key !== HEAD_KEY || !('put' in write) || partition.includes('@')) return;
    const { status, work } = readHead(write.put).meta;
    const { run, tenant } = parsePartition(partition);
    const parent = work?.replyTo;
    const waiting = this.heads.get(parent ?? '');
    const ends = hasEnded(status) && !hasEnded(this.heads.get(run)?.status ?? 'READY');
    if (!ends || parent === undefined || !waiting || hasEnded(waiting.status)) return;
    const home = toPartition(tenant, parent);
    if (!writes.some((other) => keyOf(other).key === HEAD_KEY && keyOf(other).partition === home))
      this.#world.addFinding(`run ${run} is ${status}, but its parent is not woken up`);
  }

  #head(partition: string, head: HeadMeta): void {
    const { run, tenant } = parsePartition(partition);
    const before = this.heads.get(run);
    this.heads.set(run, head);
    if (before) checkClaimTime(this.#world, run, before, head);
    else checkStartTime(this.#world, run, head);
    if (!before) this.#listener.started(run, head);
    if (head.status === 'ENDING' && before?.status !== 'ENDING') this.#listener.ending(run, head);
    if (head.status === 'FAILED' && before?.status !== 'FAILED') this.#listener.failed(run, head);
    if (isReady(head) && this.#world.delivery === 'stream')
      this.#deliveries.deliver({ tenant, run, agent: head.agent });
  }

  #approval(partition: string, key: string, meta: ApprovalMeta, by: Process): void {
    const pending = this.#pending.get(partition) ?? new Set();
    this.#pending.set(partition, pending);
    const isNew = !pending.has(key);
    const { run } = parsePartition(partition);
    const approval = decodeURIComponent(key.slice(1));
    this.#votes.see(run, approval, meta, by);
    this.#world.notifications.see(run, approval, meta, by);
    const requested = { run, approval, agent: meta.agent ?? '', meta };
    if (meta.status !== 'PENDING') pending.delete(key);
    else if (isNew) {
      pending.add(key);
      checkRequestTime(this.#world, run, meta.requestedAt);
      this.#listener.requested(requested);
    }
    const isInProgress = (meta.notifyAttempts ?? 0) > 0 && (meta.notifyAt ?? 0) > this.#world.timeline.now;
    if (meta.pendingNotification && !isInProgress) this.#listener.notifiable(requested);
  }

  /** Checks that the head lists exactly the pending approvals, and that an ending run has none. */
  #checkApprovals(partition: string): void {
    const { run } = parsePartition(partition);
    const head = this.heads.get(run);
    const pending = [...(this.#pending.get(partition) ?? [])].map((key) => decodeURIComponent(key.slice(1))).toSorted();
    if (!head) return;
    const known = [...(head.work?.approvals ?? [])].toSorted();
    if ((hasEnded(head.status) || head.status === 'ENDING') && (pending.length > 0 || known.length > 0))
      this.#world.addFinding(
        `run ${run} is ${head.status} with pending approvals ${pending.join(', ') || known.join(', ')}`,
      );
    else if (String(pending) !== String(known))
      this.#world.addFinding(
        `run ${run} has pending approvals ${pending.join(', ') || '(none)'}, but its head lists ${known.join(', ') || '(none)'}`,
      );
  }
}

const isReady = ({ status, work }: HeadMeta): boolean => status === 'READY' || (status === 'ENDING' && !work?.lease);
