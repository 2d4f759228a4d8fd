import { setImmediate as tick } from 'node:timers/promises';
import type { HeadMeta, LoadedCheckpoint, RunContext } from '../../checkpoints/engine.ts';
import { currentState } from '../../checkpoints/engine.ts';
import { isStorageError, isWaitstateError } from '../../core/errors.ts';
import { hasEnded } from '../../core/status.ts';
import { ConditionFailedError, type Write } from '../../storage/ports.ts';
import { appendEntries } from '../journal/append-entries.ts';
import { NO_WORK } from '../wake/work.ts';
import {
  applyEdits,
  type BatchItem,
  countFitting,
  dedupeWrites,
  EditFailed,
  mergeItems,
  type QueuedItem,
  rejectFailedConditions,
  rejectFailedEdit,
  type SideWritesByItem,
} from './batch.ts';
import { catchUp, fencedIfGone } from './catch-up.ts';
import type { Suspension } from './suspend.ts';

/** The run was cancelled before its end was written. */
export class Superseded extends Error {}

/** An outside event came that this invocation has not seen. */
class Woken extends Error {
  readonly wake: number;

  constructor(wake: number) {
    super();
    this.wake = wake;
  }
}

/** What the writer asks those who run the agent. */
export interface WriterEvents {
  /** How the run should lie, if nothing is left to do in this process. */
  suspension(): Suspension | undefined;
  /** Events came that have to be looked at. */
  onWake(): Promise<void>;
  /** The run was cancelled or has timed out. */
  onCancel(): void;
  /** The run lies. */
  onSuspended(rest: Suspension): void;
  /** Writing is over for this invocation. */
  onFailure(error: unknown): void;
}

/**
 * Writes the checkpoints of one invocation, one after the other. What is recorded while a write is under way goes into
 * the next, so results that finish together share one.
 */
export class RunWriter {
  loaded: LoadedCheckpoint;
  state: unknown;
  /** The number of the newest event that was looked at. */
  seenWake: number;
  readonly #at: RunContext;
  readonly #resting: WriterEvents;
  readonly #dropped = new WeakSet<BatchItem>();
  #queue: QueuedItem[] = [];
  #running = false;
  #over = false;

  constructor(at: RunContext, loaded: LoadedCheckpoint, seenWake: number, resting: WriterEvents) {
    this.#at = at;
    this.loaded = loaded;
    this.state = currentState(at, loaded).state;
    this.seenWake = seenWake;
    this.#resting = resting;
  }

  /** Resolves when the item is confirmed; rejects only for what is wrong with the item itself. */
  record(item: BatchItem): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#queue.push({ item, done });
    this.flush();
    return done.promise;
  }

  /** Leaves an item unwritten, if it is not on its way; who waits for it waits for ever. */
  drop(item: BatchItem): void {
    this.#dropped.add(item);
  }

  /** Looks whether there is something to write. */
  flush(): void {
    if (this.#running || this.#over) return;
    this.#running = true;
    this.#loop().catch((error: unknown) => {
      this.#over = true;
      this.#resting.onFailure(error);
    });
  }

  /** Writes nothing more. */
  stop(): void {
    this.#over = true;
  }

  async #loop(): Promise<void> {
    for (;;) {
      // What happens at the same time comes together here, and the agent goes on as far as it can.
      await tick();
      if (this.#over) return;
      const batch = this.#queue.filter(({ item }) => !this.#dropped.has(item));
      this.#queue = [];
      const ends = batch.some(({ item }) => item.status && hasEnded(item.status));
      const rest = batch.every(({ item }) => item.allowsSuspend) ? this.#resting.suspension() : undefined;
      if (batch.length === 0 && !rest) {
        this.#running = false;
        return;
      }
      const written = await this.#write(batch, rest);
      if (!written) continue;
      for (const { done } of batch) done.resolve();
      if (ends) this.#over = true;
      if (rest) {
        this.#over = true;
        this.#resting.onSuspended(rest);
      }
      if (this.#over) return;
    }
  }

  /** Writes a batch, or puts back what has to be written in another way. */
  async #write(batch: QueuedItem[], rest: Suspension | undefined): Promise<boolean> {
    for (let tries = 1; ; tries++) {
      const besides = await this.#besides(batch);
      if (!besides) return false;
      const fit = countFitting(batch, besides);
      if (fit < batch.length) {
        this.#queue.unshift(...batch.splice(fit));
        await this.#writeNow(batch);
        return false;
      }
      const items = batch.map(({ item }) => item);
      try {
        await this.#append(items, besides.flat(), rest);
        return true;
      } catch (error) {
        if (!(await this.#canTryAgain(batch, besides, error))) return false;
        if (tries >= TRIES) throw error;
      }
    }
  }

  /** Writes a part of a batch, and tells who waits for it. */
  async #writeNow(part: QueuedItem[]): Promise<void> {
    if (await this.#write(part, undefined)) for (const { done } of part) done.resolve();
  }

  /** Does what the failure of a write asks for; says whether what it leaves of the batch is to be tried again. */
  async #canTryAgain(batch: QueuedItem[], besides: SideWritesByItem, error: unknown): Promise<boolean> {
    if (error instanceof Woken || isWaitstateError(error, 'STALE_VERSION')) {
      this.#queue.unshift(...batch);
      await (error instanceof Woken ? this.#lookAt(error.wake) : this.#catchUp());
      return false;
    }
    if (isWaitstateError(error, 'UNSUPPORTED_VALUE')) {
      await this.#findUnsupported(batch, error);
      return false;
    }
    if (error instanceof EditFailed) rejectFailedEdit(batch, error);
    else if (error instanceof ConditionFailedError) rejectFailedConditions(batch, besides, error);
    else throw fencedIfGone(error);
    return batch.length > 0;
  }

  /** An event came: what it is about is looked at before the run lies down. */
  #lookAt(wake: number): Promise<void> {
    this.seenWake = wake;
    return this.#resting.onWake();
  }

  /** Some value of a batch cannot be kept: alone, each item shows whether it is its own. */
  async #findUnsupported(batch: readonly QueuedItem[], error: unknown): Promise<void> {
    if (batch.length === 1) batch[0]?.done.reject(error);
    else for (const one of batch) await this.#writeNow([one]);
  }

  /** What is written beside each item; undefined when some item cannot be written, which then is told. */
  async #besides(batch: readonly QueuedItem[]): Promise<SideWritesByItem | undefined> {
    const made = await Promise.allSettled(batch.map(async ({ item }) => (await item.sideWrites?.()) ?? []));
    const failed = made.flatMap((each, i) => (each.status === 'rejected' ? [{ one: batch[i], why: each.reason }] : []));
    for (const { why } of failed) if (isStorageError(why)) throw why;
    if (failed.length === 0) return dedupeWrites(made.map((each) => (each.status === 'fulfilled' ? each.value : [])));
    for (const { one, why } of failed) one?.done.reject(why);
    this.#queue.unshift(...batch.filter((one) => !failed.some((lost) => lost.one === one)));
    return undefined;
  }

  async #append(items: readonly BatchItem[], beside: readonly Write[], rest: Suspension | undefined): Promise<void> {
    const { seenWake } = this;
    const edits = items.some(({ edit }) => edit);
    const state = edits && { state: { value: await applyEdits(items, this.state) } };
    const changesWork = items.some(({ work }) => work) || rest;
    const head = (there: HeadMeta) => {
      const before = there.work ?? NO_WORK;
      // The head that this process knows may be older than what it has looked at; then the commit finds the newer one.
      if (rest && before.wake > seenWake) throw new Woken(before.wake);
      const changed = items.reduce((work, item) => item.work?.(work) ?? work, before);
      return { work: rest ? rest.work(changed) : changed };
    };
    this.loaded = await appendEntries(this.#at, this.loaded, {
      ...mergeItems(items),
      ...state,
      ...(rest && { status: rest.status }),
      ...(changesWork && { head }),
      sideWrites: beside,
    });
    if (edits) this.state = currentState(this.#at, this.loaded).state;
  }

  /** Goes on from what somebody else appended. */
  async #catchUp(): Promise<void> {
    const { newest, isCancelled } = await catchUp(this.#at, this.loaded);
    this.loaded = newest;
    this.state = currentState(this.#at, newest).state;
    if (!isCancelled) return;
    this.#resting.onCancel();
    // The run ends in another way now.
    const overtaken = this.#queue.filter(({ item }) => item.status);
    this.#queue = this.#queue.filter(({ item }) => !item.status);
    for (const { done } of overtaken) done.reject(new Superseded());
  }
}

// How often what is written beside is made anew on what others left there.
const TRIES = 20;
