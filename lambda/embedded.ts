import { type CheckpointStore, createCheckpointStore } from './checkpoints/checkpoint-store.ts';
import type { CheckpointStoreOptions } from './checkpoints/engine.ts';
import { type EmbeddedStorageOptions, embeddedStorage } from './storage/embedded/embedded-storage.ts';

export { type EmbeddedStorageOptions, embeddedStorage };

export interface EmbeddedStoreOptions extends CheckpointStoreOptions {
  /** The folder for all data; several processes can share it. @default `.waitstate` in the working directory */
  readonly folder?: string;
}

/** A checkpoint store in a local folder: records in SQLite, payloads as files. Every write is synced to disk. */
export function checkpointStore<State = unknown>(options: EmbeddedStoreOptions = {}): CheckpointStore<State> {
  const { folder = '.waitstate', ...rest } = options;
  const storage = embeddedStorage({ folder, ...(options.clock && { clock: options.clock }) });
  return createCheckpointStore<State>(storage, rest);
}
