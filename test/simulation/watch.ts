import type { HeadMeta } from '../../lambda/checkpoints/format/meta.ts';
import { readHead } from '../../lambda/checkpoints/format/records.ts';
import { sideMeta } from '../../lambda/checkpoints/format/side-record.ts';
import { parsePartition, toPartition } from '../../lambda/core/ids.ts';
import { hasEnded } from '../../lambda/core/status.ts';
import { HEAD_KEY } from '../../lambda/storage/keys.ts';
import type { Write } from '../../lambda/storage/ports.ts';
import type { Deliveries } from './deliveries.ts';
import type { ApproverMeta } from './people.ts';
import { keyOf } from './truth.ts';
import type { World } from './world.ts';

/** What those outside want to know at once. */
export interface Watching {
  began(run: string, head: HeadMeta): void;
  ending(run: string, head: HeadMeta): void;
  failed(run: string, head: HeadMeta): void;
  asked(run: string, head: HeadMeta, approval: string, meta: ApproverMeta): void;
}

/** Sees each commit as it is made: who must be told of it, when something is due, and what must never be. */
export class Watch {
  /** The newest head of each run. */
  readonly heads = new Map<string, HeadMeta>();
  readonly #world: World;
  readonly #deliveries: Deliveries;
  readonly #watching: Watching;
  readonly #due = new Map<string, number>();
  readonly #open = new Map<string, Set<string>>();

  constructor(world: World, deliveries: Deliveries, watching: Watching) {
    this.#world = world;
    this.#deliveries = deliveries;
    this.#watching = watching;
  }

  /** When something is next due; undefined when nothing is. */
  get nextDue(): number | undefined {
    const next = Math.min(...this.#due.values());
    return next === Infinity ? undefined : next;
  }

  get allEnded(): boolean {
    return [...this.heads.values()].every(({ status }) => hasEnded(status));
  }

  async see(writes: readonly Write[]): Promise<void> {
    const touched = new Set<string>();
    for (const write of writes) this.#checkTold(write, writes);
    for (const write of writes) {
      const { partition, key } = keyOf(write);
      const place = `${partition} ${key}`;
      const order = 'put' in write ? write.put.lists?.due?.order : undefined;
      if (order === undefined) this.#due.delete(place);
      else this.#due.set(place, Number(order));
      if (partition.includes('@')) continue;
      if (key === HEAD_KEY && 'put' in write) this.#head(partition, readHead(write.put).meta);
      if (key.startsWith('a') && 'put' in write) this.#approval(partition, key, sideMeta(write.put));
      if (key === HEAD_KEY || key.startsWith('a')) touched.add(partition);
    }
    for (const partition of touched) this.#checkOpen(partition);
  }

  /** The end of a child and the waking of its parent are one commit. */
  #checkTold(write: Write, writes: readonly Write[]): void {
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
      this.#world.wrong(`run ${run} is ${status}, and its parent is not told`);
  }

  #head(partition: string, head: HeadMeta): void {
    const { run, tenant } = parsePartition(partition);
    const before = this.heads.get(run);
    this.heads.set(run, head);
    if (!before) this.#watching.began(run, head);
    if (head.status === 'ENDING' && before?.status !== 'ENDING') this.#watching.ending(run, head);
    if (head.status === 'FAILED' && before?.status !== 'FAILED') this.#watching.failed(run, head);
    const isReady = head.status === 'READY' || (head.status === 'ENDING' && !head.work?.lease);
    if (isReady && this.#world.streams) this.#deliveries.bring({ tenant, run, agent: head.agent });
  }

  #approval(partition: string, key: string, meta: Readonly<Record<string, unknown>>): void {
    const open = this.#open.get(partition) ?? new Set();
    this.#open.set(partition, open);
    const isNew = !open.has(key);
    if (meta.status !== 'PENDING') open.delete(key);
    else if (isNew) {
      open.add(key);
      const { run } = parsePartition(partition);
      // The head is in the same commit, but may come after it.
      queueMicrotask(() => {
        const head = this.heads.get(run);
        if (head) this.#watching.asked(run, head, decodeURIComponent(key.slice(1)), meta as unknown as ApproverMeta);
      });
    }
  }

  /** Who is on the way to the end asks nobody, and what asks is known to the head. */
  #checkOpen(partition: string): void {
    const { run } = parsePartition(partition);
    const head = this.heads.get(run);
    const open = [...(this.#open.get(partition) ?? [])].map((key) => decodeURIComponent(key.slice(1))).toSorted();
    if (!head) return;
    const known = [...(head.work?.approvals ?? [])].toSorted();
    if ((hasEnded(head.status) || head.status === 'ENDING') && (open.length > 0 || known.length > 0))
      this.#world.wrong(`run ${run} is ${head.status} and still asks ${open.join(', ') || known.join(', ')}`);
    else if (String(open) !== String(known))
      this.#world.wrong(
        `run ${run} asks ${open.join(', ') || 'nothing'}, and its head says ${known.join(', ') || 'nothing'}`,
      );
  }
}
