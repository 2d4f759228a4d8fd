/** An edit, its place among the others, and who waits for it. */
interface Edit {
  readonly place: number;
  readonly change: (state: unknown) => Promise<unknown>;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * A state on which edits are made one after the other, however they come. Those with a place are made in the order of
 * their places: in a replay branches come in another order than when their edits were recorded.
 */
export class EditedState {
  value: unknown;
  readonly #initial: unknown;
  #made: Edit[] = [];
  #come: Edit[] = [];
  #last = 0;
  #working: Promise<void> = Promise.resolve();

  constructor(initial: unknown) {
    this.#initial = initial;
    this.value = initial;
  }

  /** Makes an edit, by default behind all others; rejects with what it throws, and the state is as before. */
  edit(change: Edit['change'], place = this.#last + 1): Promise<void> {
    this.#last = Math.max(this.#last, place);
    const done = Promise.withResolvers<void>();
    this.#come.push({ place, change, done });
    this.#working = this.#working.then(() => this.#make());
    return done.promise;
  }

  /** Makes what has come; when that belongs before what was made, all of it again. */
  async #make(): Promise<void> {
    const come = this.#come.toSorted(byPlace);
    this.#come = [];
    const isNext = (come[0]?.place ?? Infinity) > (this.#made.at(-1)?.place ?? 0);
    if (!isNext) come.push(...this.#made.splice(0));
    let state = isNext ? this.value : this.#initial;
    for (const edit of come.sort(byPlace)) {
      try {
        state = await edit.change(state);
        this.#made.push(edit);
      } catch (error) {
        edit.done.reject(error);
      }
    }
    this.value = state;
    for (const { done } of come) done.resolve();
  }
}

const byPlace = (a: Edit, b: Edit): number => a.place - b.place;
