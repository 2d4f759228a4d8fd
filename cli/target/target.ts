import type { CheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import type { Desk } from '../../lambda/operator/operator.ts';
import type { StorageWatcher } from '../../lambda/storage/decorators/watched-storage.ts';

/** A folder of this machine. */
export interface FolderPlace {
  readonly kind: 'folder';
  readonly folder: string;
}

/** A table and a bucket. */
export interface AwsPlace {
  readonly kind: 'aws';
  readonly table: string;
  readonly bucket: string;
  /** The KMS key of encrypted runs. */
  readonly key?: string;
  readonly stack?: string;
  readonly apiUrl?: string;
}

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
