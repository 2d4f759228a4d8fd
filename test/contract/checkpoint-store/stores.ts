import { randomUUID } from 'node:crypto';
import { type CheckpointStore, createCheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import type { CheckpointStoreOptions } from '../../../lambda/checkpoints/context-factory.ts';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { withTrackedVersions } from './following.ts';
import { type StoredRun, storedRun } from './stored-run.ts';

/** The time of every store that a test opens, in milliseconds. */
interface Clock {
  now: number;
  forward(milliseconds: number): void;
}

/** What one test uses: its own tenant and run on the storage of its file. */
export interface Stores {
  readonly storage: Storage;
  readonly tenant: string;
  /** An id that nothing is stored under yet. */
  readonly run: string;
  readonly clock: Clock;
  /**
   * A store that shares nothing with others but the storage, as one in another process would; its saves follow what it
   * last gave.
   */
  store<State = unknown>(options?: CheckpointStoreOptions, storage?: Storage): CheckpointStore<State>;
  /** What is stored of a run, behind the back of every store. */
  stored(run?: string, tenant?: string): StoredRun;
}

export type OpenStores = () => Stores;

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** The stores of one test. */
export function storesOn(storage: Storage): Stores {
  const tenant = `tenant ${randomUUID()}`;
  const run = `run ${randomUUID()}`;
  // Whole seconds, so that no storage has reason to round.
  const clock: Clock = {
    now: Math.floor(Date.now() / SECOND) * SECOND,
    forward(milliseconds) {
      this.now += milliseconds;
    },
  };
  return {
    storage,
    tenant,
    run,
    clock,
    store: <State>(options: CheckpointStoreOptions = {}, on = storage) =>
      withTrackedVersions(createCheckpointStore<State>(on, { tenant, clock: () => clock.now, ...options })),
    stored: (of = run, by = tenant) => storedRun(storage, by, of),
  };
}

/** Everything that an iteration gives. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** What a promise is rejected with. */
export async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome) return outcome.error;
  throw new Error('It was expected to fail, and did not.');
}
