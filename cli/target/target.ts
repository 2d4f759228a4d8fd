import type { CheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import type { Operator } from '../../lambda/operator/operator.ts';
import type { StorageWatcher } from '../../lambda/storage/decorators/watched-storage.ts';

/** A folder on this machine. */
export interface FolderTarget {
  readonly kind: 'folder';
  readonly folder: string;
}

/** A DynamoDB table and an S3 bucket. */
export interface AwsTarget {
  readonly kind: 'aws';
  readonly table: string;
  readonly bucket: string;
  /** The KMS key of encrypted runs. */
  readonly key?: string;
  readonly stack?: string;
  readonly apiUrl?: string;
}

/** The open storage that a command works on, and the operations on it. */
export interface Target {
  readonly resolved: FolderTarget | AwsTarget;
  readonly tenant: string;
  readonly operator: Operator;
  readonly store: CheckpointStore;
  /** Sets the watcher that observes reads and writes of the storage. */
  watch(watcher: StorageWatcher): void;
  close(): Promise<void>;
}
