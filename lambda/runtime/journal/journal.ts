import { setImmediate as tick } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { type Entry, hasSettled, isOperationId, lastSeq } from './entries.ts';
import { pathOf } from './identity.ts';
import { UnreplayedOperations } from './unreplayed-operations.ts';

// How long a new operation waits for the recorded ones that the code has not called yet. Sequential code calls them
// first. Concurrent code may be slower to reach them, because it awaits something that is not an operation.
const REPLAY_WAIT_MS = { sequential: 1_000, concurrent: 10_000 };

/** The entries of a run by id, as its invocation knows them. It numbers operations that wait and that complete. */
export class Journal extends Map<string, Entry> {
  readonly #unreplayed: UnreplayedOperations;
  /** How many operations of each scope have been called and have not returned. */
  readonly #outstanding = new Map<string, number>();
  /** Resolves when the code calls a recorded operation of a scope. */
  readonly #nextReplayed = new Map<string, PromiseWithResolvers<boolean>>();
  #order: number;
  #seq: number;

  constructor(recorded: ReadonlyMap<string, Entry>) {
    super(recorded);
    this.#order = Math.max(0, ...[...recorded.values()].map(({ order = 0 }) => order));
    this.#seq = lastSeq(recorded);
    this.#unreplayed = new UnreplayedOperations(recorded);
  }

  /** The entry of an operation that has one: it completed, or it waits. */
  entry(id: string): Entry {
    return this.get(id) as Entry;
  }

  /** Whether the agent has recorded any operation. */
  get hasOperations(): boolean {
    return [...this.keys()].some(isOperationId);
  }

  /** The order of the next operation that waits or can be undone. */
  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  /** The fields of an operation that begins to wait. */
  beginWait(id: string): Pick<Entry, 'order' | 'concurrent'> {
    return { order: this.nextOrder(), ...this.#concurrency(id) };
  }

  /** Gives the entry of a completed operation its sequence number, unless it has one. */
  withSeq(id: string, entry: Entry): Entry {
    if (!isOperationId(id) || !hasSettled(entry) || entry.seq !== undefined) return entry;
    this.#seq += 1;
    return { ...entry, seq: this.#seq, ...this.#concurrency(id) };
  }

  #concurrency(id: string): { readonly concurrent?: true } {
    return (this.#outstanding.get(pathOf(id)) ?? 0) > 1 ? { concurrent: true } : {};
  }

  /** The code called an operation. */
  markCalled(id: string): void {
    const path = pathOf(id);
    this.#outstanding.set(path, (this.#outstanding.get(path) ?? 0) + 1);
    if (!this.#unreplayed.markReplayed(id)) return;
    this.#nextReplayed.get(path)?.resolve(true);
    this.#nextReplayed.delete(path);
  }

  /** The promise of an operation is about to settle. */
  markReturned(id: string): void {
    const path = pathOf(id);
    this.#outstanding.set(path, (this.#outstanding.get(path) ?? 0) - 1);
  }

  /** Whether the journal has operations that the code of a scope should call before it begins a new one. */
  hasUnreplayed(path: string): boolean {
    return this.#unreplayed.after(path).length > 0;
  }

  /**
   * Waits until the code of a scope has called its recorded operations. Returns the first one that it did not call in
   * time; each one that it calls gives it the full time again.
   */
  async waitForReplay(path: string, clock: Clock): Promise<string | undefined> {
    for (;;) {
      for (let ticks = 0; ticks < 10; ticks++) await tick();
      const missing = this.#unreplayed.after(path);
      if (missing.length === 0) return undefined;
      const isConcurrent = missing.some((id) => this.get(id)?.concurrent);
      const waitMs = REPLAY_WAIT_MS[isConcurrent ? 'concurrent' : 'sequential'];
      if (!(await this.#isReplayedWithin(waitMs, path, clock))) return this.#unreplayed.after(path)[0];
    }
  }

  async #isReplayedWithin(milliseconds: number, path: string, clock: Clock): Promise<boolean> {
    const next = this.#nextReplayed.get(path) ?? Promise.withResolvers<boolean>();
    this.#nextReplayed.set(path, next);
    const timer = new AbortController();
    const late = clock.sleep(milliseconds, timer.signal, true).then(
      () => false,
      () => true,
    );
    const isReplayed = await Promise.race([next.promise, late]);
    timer.abort();
    return isReplayed;
  }
}
