import { type Entry, hasSettled, isOperationId } from './entries.ts';
import { pathOf } from './identity.ts';

/**
 * The recorded operations that the code has not called again, by scope. Code that begins a new operation before it has
 * called all of them has changed since they were recorded.
 */
export class UnreplayedOperations {
  readonly #scopes = new Map<string, Map<string, number>>();
  readonly #lastReplayed = new Map<string, number>();

  constructor(journal: ReadonlyMap<string, Entry>) {
    for (const [id, entry] of journal) {
      if (!isOperationId(id) || !hasSettled(entry) || entry.seq === undefined) continue;
      const path = pathOf(id);
      const scope = this.#scopes.get(path) ?? new Map<string, number>();
      this.#scopes.set(path, scope.set(id, entry.seq));
    }
  }

  /** Marks an operation as called by the code; returns whether it was recorded. */
  markReplayed(id: string): boolean {
    const path = pathOf(id);
    const seq = this.#scopes.get(path)?.get(id);
    if (seq === undefined) return false;
    this.#scopes.get(path)?.delete(id);
    this.#lastReplayed.set(path, Math.max(seq, this.#lastReplayed.get(path) ?? 0));
    return true;
  }

  /** The operations of a scope that completed after every operation that the code has called, in that order. */
  after(path: string): readonly string[] {
    const lastReplayed = this.#lastReplayed.get(path) ?? 0;
    const later = [...(this.#scopes.get(path) ?? [])].filter(([, seq]) => seq > lastReplayed);
    return later.toSorted(([, a], [, b]) => a - b).map(([id]) => id);
  }
}
