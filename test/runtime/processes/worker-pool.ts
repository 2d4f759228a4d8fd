import type { Code } from './agents.ts';
import type { SharedStorage } from './shared-storage.ts';
import { Worker } from './worker.ts';

/** Processes of one place, some of them started before they are needed: most of their life is reading their own code. */
export class WorkerPool {
  readonly #place: SharedStorage;
  readonly #spare: Worker[] = [];
  readonly #all = new Set<Worker>();

  constructor(place: SharedStorage) {
    this.#place = place;
  }

  /** A fresh process. */
  take(): Worker {
    const worker = this.#spare.shift() ?? this.of(3);
    while (this.#spare.length < 2) this.#spare.push(this.of(3));
    return worker;
  }

  /** A process of another deployment. */
  of(code: Code): Worker {
    const worker = new Worker(this.#place, code);
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
