/** What is running in an invocation, and who waits until nothing is. */
export class Activity {
  readonly #onChange: () => void;
  readonly #idleWaiters: (() => void)[] = [];
  #running = 0;

  /** `onChange` is called when something completed, or somebody began to wait. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get isRunning(): boolean {
    return this.#running > 0;
  }

  /** Runs something that keeps the run from suspending. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#onChange();
    }
  }

  /** Resolves when `releaseIdleWaiters` is called. */
  waitUntilIdle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
      this.#onChange();
    });
  }

  /** Resumes the callers of `waitUntilIdle`; returns whether there were any. */
  releaseIdleWaiters(): boolean {
    if (this.#idleWaiters.length === 0) return false;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
    // The callers may have nothing left to do: then the run still has to suspend.
    queueMicrotask(this.#onChange);
    return true;
  }
}
