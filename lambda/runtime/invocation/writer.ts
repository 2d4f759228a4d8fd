import { currentState, type HeadMeta, type LoadedCheckpoint, type RunContext } from '../../checkpoints/engine.ts';
import { isStorageError, isWaitstateError } from '../../core/errors.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import { appendEntries } from '../journal/append-entries.ts';
import { NO_WORK } from '../wake/work.ts';
import {
  applyEdits,
  type BatchItem,
  countFitting,
  dedupeWrites,
  EditFailed,
  explainFailure,
  mergeItems,
  type QueuedItem,
  rejectFailedConditions,
  rejectFailedEdit,
  rejectInvalidWrites,
  type SideWritesByItem,
} from './batch.ts';
import { catchUp, fencedIfGone } from './catch-up.ts';
import type { Suspension } from './suspension.ts';

/** What became of a write. Items that are `unwritten` still have to be written; rejected items are not among them. */
export type WriteOutcome =
  | { readonly result: 'written' }
  | { readonly result: 'suspended'; readonly suspension: Suspension }
  /** An event arrived that this invocation has not read, so the run must not suspend. Nothing was written. */
  | { readonly result: 'woken'; readonly eventCount: number; readonly unwritten: readonly QueuedItem[] }
  /** Somebody else has appended a checkpoint. */
  | { readonly result: 'stale'; readonly unwritten: readonly QueuedItem[] }
  /** Some items did not fit into the transaction, or were rejected. */
  | { readonly result: 'partly written'; readonly unwritten: readonly QueuedItem[] };

/** The head counts an event that this invocation has not read. */
class UnreadEvent extends Error {
  readonly eventCount: number;

  constructor(eventCount: number) {
    super();
    this.eventCount = eventCount;
  }
}

// How often side writes are made again on top of what others wrote.
const MAX_ATTEMPTS = 20;

/** Writes the checkpoints of one invocation, each on top of the one before it. */
export class RunWriter {
  loaded: LoadedCheckpoint;
  state: unknown;
  /** The number of the newest event that this invocation has read. */
  seenEventCount: number;
  readonly #at: RunContext;

  constructor(at: RunContext, loaded: LoadedCheckpoint, seenEventCount: number) {
    this.#at = at;
    this.loaded = loaded;
    this.state = currentState(at, loaded).state;
    this.seenEventCount = seenEventCount;
  }

  /** Writes items as one checkpoint, together with a suspension if there is one, and confirms the written items. */
  async write(items: readonly QueuedItem[], suspension?: Suspension): Promise<WriteOutcome> {
    const batch = [...items];
    for (let attempt = 1; ; attempt++) {
      const sideWrites = await makeSideWrites(batch);
      if (!sideWrites) return { result: 'partly written', unwritten: batch };
      const fitting = countFitting(batch, sideWrites);
      if (fitting < batch.length) return this.#writeParts([batch.slice(0, fitting)], batch.slice(fitting));
      try {
        await this.#append(batch, sideWrites, suspension);
        for (const { done } of batch) done.resolve();
        return suspension ? { result: 'suspended', suspension } : { result: 'written' };
      } catch (error) {
        if (error instanceof UnreadEvent) return { result: 'woken', eventCount: error.eventCount, unwritten: batch };
        if (isWaitstateError(error, 'STALE_VERSION')) return { result: 'stale', unwritten: batch };
        if (isWaitstateError(error, 'UNSUPPORTED_VALUE')) return this.#writeOneByOne(batch, error);
        if (error instanceof EditFailed) rejectFailedEdit(batch, error);
        else if (error instanceof ConditionFailedError) rejectFailedConditions(batch, sideWrites, error);
        else if (!rejectInvalidWrites(batch, error)) throw fencedIfGone(explainFailure(batch, error));
        if (batch.length === 0) return { result: 'partly written', unwritten: [] };
        if (attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  /** Writes each item alone, because one of them has a value that cannot be stored; that item is rejected. */
  async #writeOneByOne(batch: readonly QueuedItem[], error: unknown): Promise<WriteOutcome> {
    const [first, second] = batch;
    if (second) return this.#writeParts(batch.map((queued) => [queued]));
    first?.done.reject(error);
    return { result: 'partly written', unwritten: [] };
  }

  /** Writes parts one after the other, and stops when another writer has appended a checkpoint. */
  async #writeParts(
    parts: readonly (readonly QueuedItem[])[],
    rest: readonly QueuedItem[] = [],
  ): Promise<WriteOutcome> {
    const unwritten: QueuedItem[] = [];
    for (const [i, part] of parts.entries()) {
      const outcome = await this.write(part);
      if ('unwritten' in outcome) unwritten.push(...outcome.unwritten);
      if (outcome.result === 'stale')
        return { result: 'stale', unwritten: [...unwritten, ...parts.slice(i + 1).flat(), ...rest] };
    }
    return { result: 'partly written', unwritten: [...unwritten, ...rest] };
  }

  async #append(
    batch: readonly QueuedItem[],
    sideWrites: SideWritesByItem,
    suspension: Suspension | undefined,
  ): Promise<void> {
    const { seenEventCount } = this;
    const items: readonly BatchItem[] = batch.map(({ item }) => item);
    const editsState = items.some(({ edit }) => edit);
    const state = editsState ? { value: await applyEdits(items, this.state) } : undefined;
    const changesHead = suspension !== undefined || items.some(({ work }) => work);
    const head = (current: HeadMeta) => {
      const before = current.work ?? NO_WORK;
      // The head that this process knows may be older than the events it has read; then the commit finds the newer one.
      if (suspension && before.eventCount > seenEventCount) throw new UnreadEvent(before.eventCount);
      const changed = items.reduce((work, item) => item.work?.(work) ?? work, before);
      return {
        work: suspension ? suspension.work(changed) : changed,
        ...items.find(({ failedAt }) => failedAt)?.failedAt,
      };
    };
    this.loaded = await appendEntries(this.#at, this.loaded, {
      ...mergeItems(items, suspension, this.loaded.record.meta.time),
      ...(state && { state }),
      ...(suspension && { status: suspension.status }),
      ...(changesHead && { head }),
      sideWrites: sideWrites.flat(),
    });
    if (editsState) this.state = currentState(this.#at, this.loaded).state;
  }

  /** Continues from checkpoints that others appended; throws `Fenced` if this invocation has lost the run. */
  async catchUp(): Promise<{ readonly isCancelled: boolean }> {
    const { newest, isCancelled } = await catchUp(this.#at, this.loaded);
    this.loaded = newest;
    this.state = currentState(this.#at, newest).state;
    return { isCancelled };
  }
}

/** The side writes of each item. Undefined when some could not be made: those items are rejected and taken out. */
async function makeSideWrites(batch: QueuedItem[]): Promise<SideWritesByItem | undefined> {
  const made = await Promise.allSettled(batch.map(async ({ item }) => (await item.sideWrites?.()) ?? []));
  const rejected = made.flatMap((each, i) => (each.status === 'rejected' ? [{ i, reason: each.reason }] : []));
  for (const { reason } of rejected) if (isStorageError(reason)) throw reason;
  const writes = made.map((each): readonly Write[] => (each.status === 'fulfilled' ? each.value : []));
  if (rejected.length === 0) return dedupeWrites(writes);
  for (const { i, reason } of rejected) batch[i]?.done.reject(reason);
  for (const { i } of rejected.toReversed()) batch.splice(i, 1);
  return undefined;
}
