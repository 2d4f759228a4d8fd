import type { CheckpointStore } from './checkpoints/checkpoint-store.ts';
import { createCheckpointStore } from './checkpoints/checkpoint-store.ts';
import type { CheckpointStoreOptions } from './checkpoints/engine.ts';
import { embeddedStorage } from './storage/embedded/embedded-storage.ts';

export { embeddedStorage };

export interface EmbeddedStoreOptions extends CheckpointStoreOptions {
  /** Where everything is kept; several processes may use one folder. @default `.waitstate` in the working folder */
  readonly folder?: string;
}

/** A checkpoint store in a folder of this machine: SQLite for records, files for payloads, all of it synced. */
export function checkpointStore<State = unknown>(options: EmbeddedStoreOptions = {}): CheckpointStore<State> {
  const { folder = '.waitstate', ...rest } = options;
  const storage = embeddedStorage({ folder, ...(options.clock && { clock: options.clock }) });
  return createCheckpointStore<State>(storage, rest);
}
