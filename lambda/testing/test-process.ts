import { AsyncLocalStorage } from 'node:async_hooks';

/** The process of one invocation in a test. Code that runs in it finds it in `currentProcess`. */
export class TestProcess {
  /** How many step functions are running in it. */
  runningSteps = 0;
  /** Whether it has ever stalled. A stalled process outlives its function. */
  hasStalled = false;
  #state: 'running' | 'stalled' | 'dead' = 'running';
  #resumed = Promise.withResolvers<void>();

  get isStalled(): boolean {
    return this.#state === 'stalled';
  }

  /** Whether it does nothing: its timers do not fire, and its storage requests are neither sent nor answered. */
  get isStopped(): boolean {
    return this.#state !== 'running';
  }

  stall(): void {
    if (this.#state !== 'running') return;
    this.#state = 'stalled';
    this.hasStalled = true;
  }

  /** Continues a stalled process, which does not notice that time has passed. */
  resume(): void {
    if (this.#state !== 'stalled') return;
    this.#state = 'running';
    this.#resumed.resolve();
    this.#resumed = Promise.withResolvers();
  }

  /** Ends the process for good. */
  end(): void {
    this.#state = 'dead';
  }

  /** Resolves while it runs; stays pending while it is stalled, and for good once it has ended. */
  async untilRunning(): Promise<void> {
    while (this.isStopped) await this.#resumed.promise;
  }
}

/** The process that the running code belongs to; undefined in the test itself. */
export const currentProcess = new AsyncLocalStorage<TestProcess>();
