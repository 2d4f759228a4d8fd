import type { CheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import type { Desk } from '../../lambda/desk/desk.ts';
import type { StorageWatcher } from './watched-storage.ts';
import type { AwsPlace, FolderPlace } from './where.ts';

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
