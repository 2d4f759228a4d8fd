import { setImmediate as tick } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { type Entry, hasSettled, isOperationId, lastSeq } from './entries.ts';
import { UnreplayedOperations } from './unreplayed-operations.ts';

/** What is recorded of a run, by identity, as its invocation knows it; it numbers what begins and what ends. */
export class Journal extends Map<string, Entry> {
  readonly #unasked: UnreplayedOperations;
  #order: number;
  #place: number;

  constructor(recorded: ReadonlyMap<string, Entry>) {
    super(recorded);
    this.#order = Math.max(0, ...[...recorded.values()].map(({ order = 0 }) => order));
    this.#place = lastSeq(recorded);
    this.#unasked = new UnreplayedOperations(recorded);
  }

  /** The entry of an operation that was recorded, or that waits. */
  entry(id: string): Entry {
    return this.get(id) as Entry;
  }

  /** Whether the agent did anything. */
  get hasOperations(): boolean {
    return [...this.keys()].some(isOperationId);
  }

  /** The place of the next operation that waits or can be undone. */
  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  /** An entry with its place among those that have ended. */
  withSeq(id: string, entry: Entry): Entry {
    if (!isOperationId(id) || !hasSettled(entry) || entry.seq !== undefined) return entry;
    this.#place += 1;
    return { ...entry, seq: this.#place };
  }

  /** The code has asked for an operation. */
  markReplayed(id: string): void {
    this.#unasked.markReplayed(id);
  }

  /** The operation that was recorded where the code of a scope goes on, if it has not asked for it. */
  nextUnreplayed(path: string): string | undefined {
    return this.#unasked.next(path);
  }

  /** Gives others that go on side by side a moment to ask for what is recorded. */
  async waitForReplay(path: string, clock: Clock): Promise<void> {
    for (let tries = 0; tries < 200 && this.nextUnreplayed(path) !== undefined; tries++) {
      for (let ticks = 0; ticks < 10; ticks++) await tick();
      if (tries > 0 && this.nextUnreplayed(path) !== undefined) await clock.sleep(50);
    }
  }
}
