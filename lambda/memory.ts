import { type CheckpointStore, createCheckpointStore } from './checkpoints/checkpoint-store.ts';
import type { CheckpointStoreOptions } from './checkpoints/engine.ts';
import { memoryStorage } from './storage/memory.ts';

export { memoryStorage };

/** A checkpoint store in memory, for tests; its data is lost when the process ends. */
export function checkpointStore<State = unknown>(options: CheckpointStoreOptions = {}): CheckpointStore<State> {
  return createCheckpointStore<State>(memoryStorage({ ...(options.clock && { clock: options.clock }) }), options);
}
