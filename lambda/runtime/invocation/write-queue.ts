import type { BatchItem, QueuedItem } from './batch.ts';

/** The run was cancelled before a change of its status was written. */
export class Superseded extends Error {}

/** The items that an invocation still has to write. Items that are queued together share one checkpoint. */
export class WriteQueue {
  /** Whether somebody is writing what is queued. */
  isBeingWritten = false;
  readonly #dropped = new WeakSet<BatchItem>();
  #items: QueuedItem[] = [];

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

  /** Takes everything that is queued. */
  take(): readonly QueuedItem[] {
    const taken = this.#items.filter(({ item }) => !this.#dropped.has(item));
    this.#items = [];
    return taken;
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
