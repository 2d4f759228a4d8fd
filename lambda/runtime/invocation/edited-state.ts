/** An edit, its order among the others, and the promise that settles when it is applied. */
interface Edit {
  readonly order: number;
  readonly change: (state: unknown) => Promise<unknown>;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * A state that concurrent edits change one after the other. Edits with a given order are applied in that order, because
 * in a replay branches can make their edits in another order than the recorded one.
 */
export class EditedState {
  value: unknown;
  readonly #initial: unknown;
  #applied: Edit[] = [];
  #pending: Edit[] = [];
  #lastOrder = 0;
  #applying: Promise<void> = Promise.resolve();

  constructor(initial: unknown) {
    this.#initial = initial;
    this.value = initial;
  }

  /** Applies an edit, by default after all others. If it throws, the state stays unchanged and the promise rejects. */
  edit(change: Edit['change'], order = this.#lastOrder + 1): Promise<void> {
    this.#lastOrder = Math.max(this.#lastOrder, order);
    const done = Promise.withResolvers<void>();
    this.#pending.push({ order, change, done });
    this.#applying = this.#applying.then(() => this.#applyPending());
    return done.promise;
  }

  /** Applies pending edits; if one belongs before an applied edit, all edits again from the initial state. */
  async #applyPending(): Promise<void> {
    const pending = this.#pending.toSorted(byOrder);
    this.#pending = [];
    const isNext = (pending[0]?.order ?? Infinity) > (this.#applied.at(-1)?.order ?? 0);
    if (!isNext) pending.push(...this.#applied.splice(0));
    let state = isNext ? this.value : this.#initial;
    for (const edit of pending.sort(byOrder)) {
      try {
        state = freeze(await edit.change(state));
        this.#applied.push(edit);
      } catch (error) {
        edit.done.reject(error);
      }
    }
    this.value = state;
    for (const { done } of pending) done.resolve();
  }
}

// Deeper states are refused when they are stored.
const MAX_FROZEN_DEPTH = 1_000;

/** Freezes plain objects and arrays at every level, as in a state that was loaded. */
function freeze(value: unknown, depth = 0): unknown {
  const isPlain = Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(Object(value)));
  if (isPlain && !Object.isFrozen(value) && depth <= MAX_FROZEN_DEPTH)
    for (const part of Object.values(Object.freeze(value) as object)) freeze(part, depth + 1);
  return value;
}

const byOrder = (a: Edit, b: Edit): number => a.order - b.order;
