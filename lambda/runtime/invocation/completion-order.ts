import { setImmediate as tick } from 'node:timers/promises';

/**
 * Resumes operations one after the other, in the order in which they completed. The code that awaits one runs before
 * the next is resumed, so a replay takes the same path as the first execution, even where operations race each other.
 */
export class CompletionOrder {
  readonly #waiting: { readonly seq: number; readonly resume: () => void }[] = [];
  #isResuming = false;

  /** Resolves when every operation that waits here with a lower sequence number has resumed. */
  wait(seq: number): Promise<void> {
    return new Promise((resume) => {
      this.#waiting.push({ seq, resume });
      if (!this.#isResuming) void this.#resumeAll();
    });
  }

  async #resumeAll(): Promise<void> {
    this.#isResuming = true;
    while (this.#waiting.length > 0) {
      // The agent first gets as far as it can: the next operation that it calls may have completed earlier.
      await tick();
      const first = this.#waiting.reduce((a, b) => (b.seq < a.seq ? b : a));
      this.#waiting.splice(this.#waiting.indexOf(first), 1);
      first.resume();
    }
    this.#isResuming = false;
  }
}
