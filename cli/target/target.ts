import type { CheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import type { Operator } from '../../lambda/operator/operator.ts';
import type { StorageWatcher } from '../../lambda/storage/decorators/watched-storage.ts';

/** A folder of this machine. */
export interface FolderTarget {
  readonly kind: 'folder';
  readonly folder: string;
}

/** A table and a bucket. */
export interface AwsTarget {
  readonly kind: 'aws';
  readonly table: string;
  readonly bucket: string;
  /** The KMS key of encrypted runs. */
  readonly key?: string;
  readonly stack?: string;
  readonly apiUrl?: string;
}

/** Where a command works: a storage, with what is done on it. */
export interface Target {
  readonly resolved: FolderTarget | AwsTarget;
  readonly tenant: string;
  readonly operator: Operator;
  readonly store: CheckpointStore;
  /** Says who hears what the storage does. */
  watch(watcher: StorageWatcher): void;
  close(): Promise<void>;
}
