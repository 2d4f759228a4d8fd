import { setImmediate as tick } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { type Entry, hasSettled, isOperationId, lastSeq } from './entries.ts';
import { UnreplayedOperations } from './unreplayed-operations.ts';

/** The entries of a run by id, as its invocation knows them. It numbers operations that wait and that complete. */
export class Journal extends Map<string, Entry> {
  readonly #unreplayed: UnreplayedOperations;
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

  /** Gives the entry of a completed operation its sequence number, unless it has one. */
  withSeq(id: string, entry: Entry): Entry {
    if (!isOperationId(id) || !hasSettled(entry) || entry.seq !== undefined) return entry;
    this.#seq += 1;
    return { ...entry, seq: this.#seq };
  }

  /** Marks an operation as called by the code. */
  markReplayed(id: string): void {
    this.#unreplayed.markReplayed(id);
  }

  /** The recorded operation that the code of a scope should call next; undefined if it has called all of them. */
  nextUnreplayed(path: string): string | undefined {
    return this.#unreplayed.next(path);
  }

  /** Gives concurrent code some seconds to call the recorded operations of a scope. */
  async waitForReplay(path: string, clock: Clock): Promise<void> {
    for (let attempt = 0; attempt < 200 && this.nextUnreplayed(path) !== undefined; attempt++) {
      for (let ticks = 0; ticks < 10; ticks++) await tick();
      if (attempt > 0 && this.nextUnreplayed(path) !== undefined) await clock.sleep(50);
    }
  }
}
