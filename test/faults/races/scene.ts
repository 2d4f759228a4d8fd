import { type CheckpointStore, checkpointStoreOn } from '../../../lambda/checkpoints/checkpoint-store.ts';
import { localKeys } from '../../../lambda/checkpoints/keys.ts';
import type { ErrorCode } from '../../../lambda/core/errors.ts';
import { memoryStorage } from '../../../lambda/storage/memory.ts';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { type Clock, clockAt } from '../clock.ts';
import { withInlineBytes } from '../storages.ts';

export const RUN = 'run';
export const FORK = 'its-fork';
export const keyBytes = { old: new Uint8Array(32).fill(1), new: new Uint8Array(32).fill(2) };

export interface State {
  readonly log: readonly unknown[];
  readonly seen?: unknown;
}
export type Store = CheckpointStore<State>;

export interface Scene {
  readonly storage: Storage;
  readonly clock: Clock;
  open(on?: Storage, key?: 'old' | 'new'): Store;
}

/** One of those who do something at once. */
export interface Actor {
  readonly does: string;
  run(store: Store, scene: Scene): Promise<unknown>;
  /** Whether its process has loaded the run before. */
  readonly warm?: boolean;
  readonly key?: 'old' | 'new';
  /** The codes with which it may rightly lose. */
  readonly mayFail?: readonly ErrorCode[];
}

export interface Race {
  readonly actors: readonly Actor[];
  readonly encrypted?: boolean;
  /** What there is before: a run, unless told otherwise. */
  prepare?(scene: Scene): Promise<unknown>;
  /** The time at which the race begins, counted from the last preparation. */
  readonly later?: number;
  /** The run may be gone at the end, so that confirmed writes are too. */
  readonly mayGo?: readonly string[];
  /** Checkpoints may be pruned at the end. */
  readonly prunes?: boolean;
  check?(
    outcomes: readonly PromiseSettledResult<unknown>[],
    scene: Scene,
    sound: ReadonlyMap<number, unknown> | string,
  ): Promise<void> | void;
}

export function sceneOf(encrypted: boolean): Scene {
  const clock = clockAt();
  const storage = withInlineBytes(memoryStorage({ clock: clock.read }), 700);
  return {
    storage,
    clock,
    open: (on = storage, current = 'old') =>
      checkpointStoreOn<State>(on, {
        clock: clock.read,
        ...(encrypted && { keys: localKeys({ current, keys: keyBytes }) }),
      }),
  };
}
