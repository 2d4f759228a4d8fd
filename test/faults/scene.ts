import { type CheckpointStore, createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { type Clock, clockAt } from './clock.ts';
import { withInlineBytes } from './storages.ts';

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
  /** A separate process on the storage, or on a replacement for it. */
  open(on?: Storage, key?: 'old' | 'new'): Store;
}

/** An empty storage in memory with small records, so that even small states need payloads. */
export function sceneOf(encrypted: boolean): Scene {
  const clock = clockAt();
  const storage = withInlineBytes(memoryStorage({ clock: clock.read }), 700);
  return {
    storage,
    clock,
    open: (on = storage, current = 'old') =>
      createCheckpointStore<State>(on, {
        clock: clock.read,
        ...(encrypted && { keys: localKeys({ current, keys: keyBytes }) }),
      }),
  };
}
