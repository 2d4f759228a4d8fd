import type { Code } from './agents.ts';
import type { SharedStorage } from './shared-storage.ts';
import { Worker } from './worker.ts';

/** Processes on one shared storage. Spare ones are started in advance, because starting takes most of their time. */
export class WorkerPool {
  readonly #shared: SharedStorage;
  readonly #spare: Worker[] = [];
  readonly #all = new Set<Worker>();

  constructor(shared: SharedStorage) {
    this.#shared = shared;
  }

  /** Takes a fresh process. */
  take(): Worker {
    const worker = this.#spare.shift() ?? this.of(3);
    while (this.#spare.length < 2) this.#spare.push(this.of(3));
    return worker;
  }

  /** Starts a process of the given deployment. */
  of(code: Code): Worker {
    const worker = new Worker(this.#shared, code);
    this.#all.add(worker);
    return worker;
  }

  async kill(worker: Worker): Promise<void> {
    this.#all.delete(worker);
    await worker.kill();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((worker) => worker.kill()));
  }
}
