import type { BatchItem, QueuedItem } from './batch.ts';
import type { EmittedEvents } from './emitted-events.ts';

/** The run was cancelled before a change of its status was written. */
export class Superseded extends Error {}

/** The items that an invocation still has to write. Items that are queued together share one checkpoint. */
export class WriteQueue {
  /** Whether somebody is writing what is queued. */
  isBeingWritten = false;
  readonly #dropped = new WeakSet<BatchItem>();
  readonly #events: EmittedEvents;
  #items: QueuedItem[] = [];

  constructor(events: EmittedEvents) {
    this.#events = events;
  }

  /** Resolves when the item is confirmed; rejects only for what is wrong with the item itself. */
  add(item: BatchItem): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#items.push({ item, done });
    return done.promise;
  }

  /** Leaves an item unwritten unless its write is under way; its promise then never settles. */
  drop(item: BatchItem): void {
    this.#dropped.add(item);
  }

  /** Takes everything that is queued, and the events that were emitted so far. Events alone wait for something else. */
  take(): readonly QueuedItem[] {
    const taken = this.#items.filter(({ item }) => !this.#dropped.has(item));
    this.#items = [];
    return taken.length === 0 ? taken : [...this.takeEvents(), ...taken];
  }

  /** Takes the events that were emitted so far. */
  takeEvents(): readonly QueuedItem[] {
    const item = this.#events.take();
    return item ? [{ item, done: Promise.withResolvers() }] : [];
  }

  /** Puts items back in front of those that were queued since. */
  putBack(items: readonly QueuedItem[]): void {
    this.#items.unshift(...items);
  }

  /** Rejects the items that change the run's status, because it now ends in another way. */
  rejectStatusChanges(): void {
    const rejected = this.#items.filter(({ item }) => item.status);
    this.#items = this.#items.filter(({ item }) => !item.status);
    for (const { done } of rejected) done.reject(new Superseded());
  }
}
