import { WaitstateError } from '../core/errors.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Storage } from '../storage/ports.ts';
import { currentProcess } from './test-process.ts';

/** The storage of a test, whose requests can be slow or fail. Requests of the test itself are never affected. */
export class StorageFaults {
  /** How long each request takes, by the clock. */
  delayMs = 0;
  /** How many of the next requests fail. */
  failures = 0;
  readonly storage: Storage;
  readonly #clock: Clock;
  #requests = 0;

  constructor(storage: Storage, clock: Clock) {
    this.#clock = clock;
    this.storage = this.#wrap(storage);
  }

  /** How many requests the processes have made. */
  get requests(): number {
    return this.#requests;
  }

  #wrap({ records, payloads }: Storage): Storage {
    const send = <T>(request: () => Promise<T>) => this.#send(request);
    return {
      records: {
        ...records,
        read: (...args) => send(() => records.read(...args)),
        range: (...args) => send(() => records.range(...args)),
        list: (...args) => send(() => records.list(...args)),
        commit: (...args) => send(() => records.commit(...args)),
      },
      payloads: {
        ...payloads,
        put: (...args) => send(() => payloads.put(...args)),
        open: (...args) => send(() => payloads.open(...args)),
        copy: (...args) => send(() => payloads.copy(...args)),
        remove: (...args) => send(() => payloads.remove(...args)),
      },
    };
  }

  /** Sends a request of the current process; a stopped process sends nothing and reads no response. */
  async #send<T>(request: () => Promise<T>): Promise<T> {
    const process = currentProcess.getStore();
    if (!process) return request();
    this.#requests += 1;
    if (process.isStopped) await process.untilRunning();
    if (this.delayMs > 0) await this.#clock.sleep(this.delayMs);
    if (this.failures > 0) {
      this.failures -= 1;
      throw new WaitstateError('STORAGE_UNAVAILABLE', 'The storage request failed, as the test planned.');
    }
    try {
      return await request();
    } finally {
      if (process.isStopped) await process.untilRunning();
    }
  }
}
