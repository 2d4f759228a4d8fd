import type { CheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import type { Desk } from '../../lambda/operator/operator.ts';
import type { StorageWatcher } from '../../lambda/storage/decorators/watched-storage.ts';
import type { AwsPlace, FolderPlace } from './resolve-target.ts';

/** Where a command works: a storage, with what is done on it. */
export interface Place {
  readonly at: FolderPlace | AwsPlace;
  readonly tenant: string;
  readonly desk: Desk;
  readonly store: CheckpointStore;
  /** Says who hears what the storage does. */
  watch(watcher: StorageWatcher): void;
  close(): Promise<void>;
}
