import { setImmediate as tick } from 'node:timers/promises';
import type { RunContext } from '../../checkpoints/engine.ts';
import type { Status } from '../../core/status.ts';
import type { Clock } from '../clock.ts';
import { type Entry, hasSettled, waitName } from '../journal/entries.ts';
import type { Journal } from '../journal/journal.ts';
import { EventLog } from '../wake/events.ts';
import type { BatchItem } from './batch.ts';
import { readOutcomes } from './read-outcomes.ts';
import { settle } from './settle.ts';
import type { WriteQueue } from './write-queue.ts';
import type { RunWriter } from './writer.ts';

/** The part of an invocation that waits need. */
export interface WaitingInvocation {
  readonly at: RunContext;
  readonly now: number;
  readonly runtime: { readonly clock: Clock };
  readonly journal: Journal;
  readonly queue: WriteQueue;
  readonly writer: RunWriter;
  record(item: BatchItem): Promise<void>;
  runActive<T>(work: () => Promise<T>): Promise<T>;
  checkSuspend(): void;
  fail(error: unknown): void;
}

/** Something that the run waits for. */
interface Wait {
  readonly status: Status;
  /** The time that settles it, if an event does not. */
  readonly dueAt: number | undefined;
  readonly onSettled: (entry: Entry) => void;
  /** The item that records the wait, for an approval with its request. */
  readonly request?: BatchItem | undefined;
}

/** What an invocation waits for, until an event or a time settles it. */
export class PendingWaits {
  /** Waits that are settled and being recorded. */
  readonly settling = new Set<string>();
  readonly #invocation: WaitingInvocation;
  readonly #waits = new Map<string, Wait>();
  readonly #events = new EventLog();
  #checking: Promise<void> = Promise.resolve();
  #timer: AbortController | undefined;

  constructor(invocation: WaitingInvocation) {
    this.#invocation = invocation;
  }

  get ids(): readonly string[] {
    return [...this.#waits.keys()];
  }

  /** The waits by kind and name, as the history shows them: `signal seat`. A step waits for its `retry`. */
  get names(): readonly string[] {
    return this.ids.map((id) => waitName(id, this.#invocation.journal.entry(id)));
  }

  /** The number of waits with a status. */
  countByStatus(status: Status): number {
    return this.statuses.filter((each) => each === status).length;
  }

  /** The status of each wait. */
  get statuses(): readonly Status[] {
    return [...this.#waits.values()].map(({ status }) => status);
  }

  /** The time that settles the first of the waits. */
  get dueAt(): number {
    return Math.min(...[...this.#waits.values()].map((wait) => wait.dueAt ?? Infinity));
  }

  /**
   * Waits until an event or a time settles an entry. `item` records the wait; it is queued here and written with the
   * suspension of the run, or before it when something else is still running.
   */
  waitFor<Waiting extends Entry>(id: string, entry: Waiting, status: Status, item?: BatchItem): Promise<Waiting> {
    const { journal, queue } = this.#invocation;
    const { promise, resolve, reject } = Promise.withResolvers<Waiting>();
    const request = item && { ...item, allowsSuspend: true };
    this.#waits.set(id, {
      status,
      dueAt: dueTime(entry, this.#invocation.now),
      onSettled: (settled) => resolve(settled as Waiting),
      request,
    });
    journal.set(id, entry);
    if (request)
      queue.add(request).catch((error) => {
        this.#waits.delete(id);
        journal.delete(id);
        reject(error);
      });
    this.#invocation.checkSuspend();
    return promise;
  }

  /** Stops waiting. An approval whose request is not written yet is never requested. */
  stop(id: string): void {
    const { request } = this.#waits.get(id) ?? {};
    if (request?.sideWrites) this.#invocation.queue.drop(request);
    this.#waits.delete(id);
  }

  /** Stops all waits, because the run is ending. */
  stopAll(): void {
    for (const id of this.ids) this.stop(id);
  }

  /** Checks the outcomes of waits in the background. */
  checkOutcomesSoon(): void {
    const check = async () => {
      // The wait that the caller is about to begin is checked too.
      await tick();
      await this.checkOutcomes();
    };
    this.#invocation.runActive(check).catch((error) => this.#invocation.fail(error));
  }

  /** Reads new events and settles the waits that they are for; one check after the other. */
  checkOutcomes(): Promise<void> {
    this.#checking = this.#checking.then(() => this.#check());
    return this.#checking;
  }

  async #check(): Promise<void> {
    const { at, journal, writer } = this.#invocation;
    const waits = new Map(this.ids.map((id) => [id, journal.entry(id)]));
    const read = await readOutcomes(at, writer.loaded.cipher, journal, waits, writer.seenEventCount, this.#events);
    this.#settleRetries();
    const settled = settle(waits, read.outcomes);
    if (settled.entries.size === 0) return;
    const cursor = read.cursorAfter(settled);
    if (cursor) journal.set(...cursor);
    this.#settle(settled.entries, cursor ? [cursor] : []);
  }

  /** Records settled waits, then resumes the operations that waited. */
  #settle(entries: ReadonlyMap<string, Entry>, cursorEntries: NonNullable<BatchItem['entries']>): void {
    const settled = [...entries.keys()].map((id) => ({ id, wait: this.#waits.get(id) }));
    for (const { id } of settled) {
      this.#waits.delete(id);
      this.settling.add(id);
    }
    const recordAndResume = async () => {
      const note = [...entries].map(([id, entry]) => `end of ${waitName(id, entry)}`).join(', ');
      await this.#invocation.record({ entries: [...entries, ...cursorEntries], note });
      for (const { id, wait } of settled) {
        this.settling.delete(id);
        wait?.onSettled(this.#invocation.journal.entry(id));
      }
    };
    // Not awaited: the writer itself may be waiting for this.
    this.#invocation.runActive(recordAndResume).catch((error) => this.#invocation.fail(error));
  }

  #settleRetries(): void {
    const { journal, now } = this.#invocation;
    for (const [id, wait] of this.#waits) {
      const entry = journal.get(id);
      if (!entry || !('retryAt' in entry) || hasSettled(entry) || (entry.retryAt ?? Infinity) > now) continue;
      this.#waits.delete(id);
      wait.onSettled(entry);
    }
  }

  /** While something else is running, a timer settles the waits that become due in this process. */
  setTimer(isActive: boolean): void {
    this.clearTimer();
    const { dueAt } = this;
    if (dueAt === Infinity || !isActive) return;
    const timer = new AbortController();
    this.#timer = timer;
    const { runtime, now } = this.#invocation;
    runtime.clock.sleep(Math.max(0, dueAt - now), timer.signal).then(
      () => this.checkOutcomesSoon(),
      () => {},
    );
  }

  clearTimer(): void {
    this.#timer?.abort();
    this.#timer = undefined;
  }
}

const DAY_MS = 86_400_000;

/** The time at which a wait has to be checked: its timeout, its retry, or the next check of a child run. */
function dueTime(entry: Entry, now: number): number | undefined {
  switch (entry.kind) {
    case 'sleep':
    case 'signal':
      return entry.until;
    case 'call':
      return entry.checkAt !== undefined && entry.checkAt <= now ? now + DAY_MS : entry.checkAt;
    case 'step':
    case 'tool':
    case 'undo':
      return entry.retryAt;
    default:
      return undefined;
  }
}
