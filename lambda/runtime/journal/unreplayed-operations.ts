import { type Entry, hasSettled, isOperationId } from './entries.ts';

/**
 * What is recorded and was not asked for again, by scope. Code that begins something new before it asked for what was
 * recorded later is other code than the one that was recorded.
 */
export class UnreplayedOperations {
  readonly #scopes = new Map<string, Map<string, number>>();
  readonly #newest = new Map<string, number>();

  constructor(journal: ReadonlyMap<string, Entry>) {
    for (const [id, entry] of journal) {
      if (!isOperationId(id) || !hasSettled(entry) || entry.seq === undefined) continue;
      const path = pathOf(id);
      const scope = this.#scopes.get(path) ?? new Map<string, number>();
      this.#scopes.set(path, scope.set(id, entry.seq));
    }
  }

  /** The code has asked for an operation. */
  markReplayed(id: string): void {
    const path = pathOf(id);
    const place = this.#scopes.get(path)?.get(id);
    if (place === undefined) return;
    this.#scopes.get(path)?.delete(id);
    this.#newest.set(path, Math.max(place, this.#newest.get(path) ?? 0));
  }

  /** The first operation of a scope that was recorded behind all that was asked for. */
  next(path: string): string | undefined {
    const newest = this.#newest.get(path) ?? 0;
    const behind = [...(this.#scopes.get(path) ?? [])].filter(([, place]) => place > newest);
    return behind.toSorted(([, a], [, b]) => a - b)[0]?.[0];
  }
}

const pathOf = (id: string): string => id.slice(0, id.lastIndexOf('/') + 1);
