import { setImmediate as tick } from 'node:timers/promises';
import type { Clock } from '../agent/clock.ts';
import { type Entry, hasSettled, isOperation, lastPlace } from './entries.ts';
import { Unasked } from './unreplayed-operations.ts';

/** What is recorded of a run, by identity, as its invocation knows it; it numbers what begins and what ends. */
export class Journal extends Map<string, Entry> {
  readonly #unasked: Unasked;
  #order: number;
  #place: number;

  constructor(recorded: ReadonlyMap<string, Entry>) {
    super(recorded);
    this.#order = Math.max(0, ...[...recorded.values()].map(({ order = 0 }) => order));
    this.#place = lastPlace(recorded);
    this.#unasked = new Unasked(recorded);
  }

  /** The entry of an operation that was recorded, or that waits. */
  entry(id: string): Entry {
    return this.get(id) as Entry;
  }

  /** Whether the agent did anything. */
  get hasOperations(): boolean {
    return [...this.keys()].some(isOperation);
  }

  /** The place of the next operation that waits or can be undone. */
  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  /** An entry with its place among those that have ended. */
  placed(id: string, entry: Entry): Entry {
    if (!isOperation(id) || !hasSettled(entry) || entry.place !== undefined) return entry;
    this.#place += 1;
    return { ...entry, place: this.#place };
  }

  /** The code has asked for an operation. */
  ask(id: string): void {
    this.#unasked.ask(id);
  }

  /** The operation that was recorded where the code of a scope goes on, if it has not asked for it. */
  unasked(path: string): string | undefined {
    return this.#unasked.next(path);
  }

  /** Gives others that go on side by side a moment to ask for what is recorded. */
  async letAsk(path: string, clock: Clock): Promise<void> {
    for (let tries = 0; tries < 200 && this.unasked(path) !== undefined; tries++) {
      for (let ticks = 0; ticks < 10; ticks++) await tick();
      if (tries > 0 && this.unasked(path) !== undefined) await clock.sleep(50);
    }
  }
}
