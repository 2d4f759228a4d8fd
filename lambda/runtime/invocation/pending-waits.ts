import { setImmediate as tick } from 'node:timers/promises';
import type { Status } from '../../core/status.ts';
import { type Entry, hasSettled } from '../journal/entries.ts';
import { EventLog } from '../wake/events.ts';
import type { BatchItem } from './batch.ts';
import type { Invocation } from './invocation.ts';
import { readOutcomes } from './read-outcomes.ts';
import { settle } from './settle.ts';

/** Something that the run waits for. */
interface Wait {
  readonly status: Status;
  /** When it is over by itself. */
  readonly dueAt: number | undefined;
  readonly over: (entry: Entry) => void;
  /** What asks for it, where that is written with the wait. */
  readonly announce?: BatchItem | undefined;
}

/** What an invocation waits for, until an event or time settles it. */
export class PendingWaits {
  /** Waits whose end is being recorded. */
  readonly settling = new Set<string>();
  readonly #invocation: Invocation;
  readonly #waits = new Map<string, Wait>();
  readonly #events = new EventLog();
  #looking: Promise<void> = Promise.resolve();
  #timer: AbortController | undefined;

  constructor(invocation: Invocation) {
    this.#invocation = invocation;
  }

  get ids(): readonly string[] {
    return [...this.#waits.keys()];
  }

  /** How many waits of a kind there are. */
  countByStatus(status: Status): number {
    return this.statuses.filter((each) => each === status).length;
  }

  /** What kinds of waits there are. */
  get statuses(): readonly Status[] {
    return [...this.#waits.values()].map(({ status }) => status);
  }

  /** When the first of them is over by itself. */
  get dueAt(): number {
    return Math.min(...[...this.#waits.values()].map((wait) => wait.dueAt ?? Infinity));
  }

  /** Waits for an entry to be settled by an event or by time; `announce` is written with the rest. */
  waitFor(id: string, entry: Entry, status: Status, announce?: BatchItem): Promise<Entry> {
    const { journal, writer } = this.#invocation;
    const { promise, resolve, reject } = Promise.withResolvers<Entry>();
    const announced = announce && { ...announce, allowsSuspend: true };
    this.#waits.set(id, {
      status,
      dueAt: entry.until ?? entry.retryAt ?? later(entry.checkAt, this.#invocation.now),
      over: resolve,
      announce: announced,
    });
    journal.set(id, entry);
    if (announced)
      writer.record(announced).catch((error) => {
        this.#waits.delete(id);
        journal.delete(id);
        reject(error);
      });
    this.#invocation.checkSuspend();
    return promise;
  }

  /** Forgets about a wait that nobody is interested in any more; nobody is asked for it who was not asked yet. */
  stop(id: string): void {
    const { announce } = this.#waits.get(id) ?? {};
    if (announce?.sideWrites) this.#invocation.writer.drop(announce);
    this.#waits.delete(id);
  }

  /** The run goes to its end: nothing that it waits for counts any more. */
  stopAll(): void {
    for (const id of this.ids) this.stop(id);
  }

  /** Looks at the events, without keeping the caller waiting. */
  checkOutcomesSoon(): void {
    const look = async () => {
      // What the caller is about to wait for is seen too.
      await tick();
      await this.checkOutcomes();
    };
    this.#invocation.runActive(look).catch((error) => this.#invocation.fail(error));
  }

  /** Looks at the events that came and settles what waits for them; one look after the other. */
  checkOutcomes(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { at, journal, writer } = this.#invocation;
    const waits = new Map(this.ids.map((id) => [id, journal.entry(id)]));
    const seen = await readOutcomes(at, writer.loaded.cipher, journal, waits, writer.seenWake, this.#events);
    this.#settleRetries();
    const settled = settle(waits, seen.outcomes);
    if (settled.entries.size === 0) return;
    const cursor = seen.cursorAfter(settled);
    if (cursor) journal.set(...cursor);
    this.#settle(settled.entries, cursor ? [cursor] : []);
  }

  /** Records how waits ended, and lets go on who waited. */
  #settle(entries: ReadonlyMap<string, Entry>, more: NonNullable<BatchItem['entries']>): void {
    const over = [...entries.keys()].map((id) => ({ id, wait: this.#waits.get(id) }));
    for (const { id } of over) {
      this.#waits.delete(id);
      this.settling.add(id);
    }
    const settle = async () => {
      await this.#invocation.record({ entries: [...entries, ...more] });
      for (const { id, wait } of over) {
        this.settling.delete(id);
        wait?.over(this.#invocation.journal.entry(id));
      }
    };
    // Not awaited: the writer itself may wait for this.
    this.#invocation.runActive(settle).catch((error) => this.#invocation.fail(error));
  }

  #settleRetries(): void {
    const { journal, now } = this.#invocation;
    for (const [id, wait] of this.#waits) {
      const entry = journal.get(id);
      if (entry?.retryAt === undefined || hasSettled(entry) || entry.retryAt > now) continue;
      this.#waits.delete(id);
      wait.over(entry);
    }
  }

  /** While something else is active, what is due in this process is looked at in time. */
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

  /** Nothing has to be looked at in time any more. */
  clearTimer(): void {
    this.#timer?.abort();
    this.#timer = undefined;
  }
}

/** The next time to look after something that lasts longer than expected. */
const later = (time: number | undefined, now: number): number | undefined =>
  time !== undefined && time <= now ? now + DAY_MS : time;

const DAY_MS = 86_400_000;
