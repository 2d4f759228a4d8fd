import { setImmediate as tick } from 'node:timers/promises';

/**
 * Lets operations go on one after the other, in the order in which their ends were recorded. What the agent makes of one
 * happens before the next: so a replay goes the way that was gone, also where operations race each other.
 */
export class CompletionOrder {
  readonly #waiting: { readonly place: number; readonly go: () => void }[] = [];
  #running = false;

  /** Resolves when everything that waits here with a lower place has gone on. */
  wait(place: number): Promise<void> {
    return new Promise((go) => {
      this.#waiting.push({ place, go });
      if (!this.#running) void this.#letGo();
    });
  }

  async #letGo(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      // The agent gets as far as it can first: what it asks for may come before what waits.
      await tick();
      const first = this.#waiting.reduce((a, b) => (b.place < a.place ? b : a));
      this.#waiting.splice(this.#waiting.indexOf(first), 1);
      first.go();
    }
    this.#running = false;
  }
}
