import { WaitstateError } from '../core/errors.ts';

/** The primary key of a record. */
export interface RecordKey {
  /** `<tenant>/<run>`, escaped: all records of a run share one partition. */
  readonly partition: string;
  /** Printable ASCII; the records of a partition are ordered by it, byte by byte. */
  readonly key: string;
}

/** One record: readable metadata, an opaque body, and its list entries. Adapters never interpret their content. */
export interface StoredRecord extends RecordKey {
  /** Different for every content; conditions compare it. */
  readonly revision: string;
  readonly meta: string;
  readonly body?: Uint8Array;
  readonly lists?: ListEntries;
  /**
   * When the record expires, in milliseconds. A store with `removesExpired` deletes it some time after that, possibly
   * days later, so readers must check this time. Other stores keep the record and drop this field.
   */
  readonly expiresAt?: number;
}

/** The lists: runs by status, by owner, and by due time. */
export type ListName = 'status' | 'owner' | 'due';

/** The entry of a record in each list: its group, and its sort key within the group, which is printable ASCII too. */
export type ListEntries = { readonly [L in ListName]?: { readonly group: string; readonly order: string } };

/** The condition of a write: the key has no record, or a record with this revision. */
export type Condition = 'absent' | { readonly revision: string };

/** One conditional write of a commit. */
export type Write =
  | { readonly put: StoredRecord; readonly when: Condition }
  | { readonly remove: RecordKey; readonly when: { readonly revision: string } }
  /** A write to the caller's own data, in the format of the storage; only with `supportsForeignWrites`. */
  | { readonly foreign: object; readonly when: 'foreign' };

/** One page of records. */
export interface Page {
  readonly records: readonly StoredRecord[];
  /** Pass it as `after` for the next page; absent on the last page. */
  readonly next?: string;
}

/** Which records to return, in which order, and where to continue. */
export interface PageOptions {
  /** Inclusive bounds: keys for `range`, orders for `list`. */
  readonly from?: string;
  readonly to?: string;
  readonly newestFirst?: boolean;
  readonly limit?: number;
  readonly after?: string;
}

/**
 * Stores records. Reads are strongly consistent, except `list`, which is eventually consistent. Any call may throw
 * STORAGE_MISSING, STORAGE_DENIED, STORAGE_UNAVAILABLE or STORAGE_FULL.
 */
export interface RecordStore {
  /** The body size in bytes above which a payload is cheaper than a record. */
  readonly maxInlineBytes: number;
  /** Whether compressing small bodies pays off: where bytes cost money, not where a disk writes whole pages anyway. */
  readonly compressesSmallBodies: boolean;
  /** Whether a commit can include writes to the caller's own data. @default false */
  readonly supportsForeignWrites?: boolean;
  /** The table of the records, by name or ARN; a foreign write must not change it. @default no table */
  readonly table?: string;
  /** Whether the storage deletes records after their `expiresAt` at no cost, and never earlier. @default false */
  readonly removesExpired?: boolean;
  /**
   * How far the clock of this process is ahead of the clock of the storage, in milliseconds, as the responses so far
   * show: 0 if the difference is within the error of the measurement or if both have one clock, undefined before the
   * first response.
   */
  clockAheadMs(): number | undefined;
  /** Reads the records with these keys, at most 100, in one request and any order; missing ones are left out. */
  read(partition: string, keys: readonly string[]): Promise<readonly StoredRecord[]>;
  /** Reads a page of a partition in key order. A page may be short; only a missing `next` marks the end. */
  range(partition: string, options?: PageOptions): Promise<Page>;
  /**
   * Reads a page of one list group in its order; records with the same order are in any order. The records have no body
   * and no list entries.
   */
  list(list: ListName, group: string, options?: PageOptions): Promise<Page>;
  /**
   * Writes all or nothing: at most 100 writes to different keys, durable when it resolves. Throws ConditionFailedError
   * with the current records when a condition fails, and RECORD_TOO_LARGE before it writes anything. When the adapter
   * retries a request that had already been applied, the commit resolves.
   */
  commit(writes: readonly Write[]): Promise<void>;
  close(): Promise<void>;
}

/** Thrown by a commit that wrote nothing because a condition did not hold. */
export class ConditionFailedError extends WaitstateError {
  override readonly name = 'ConditionFailedError';
  /** The current record of each write whose condition failed, by the index of the write. */
  readonly found: ReadonlyMap<number, StoredRecord | undefined>;

  constructor(found: ReadonlyMap<number, StoredRecord | undefined>, cause?: unknown) {
    super('CONDITION_FAILED', `${found.size} conditions of a commit did not hold. Nothing was written.`, {
      cause,
    });
    this.found = found;
  }
}

/** What a listing shows of a payload. */
export interface StoredPayload {
  readonly partition: string;
  readonly id: string;
  readonly size: number;
  readonly writtenAt: number;
}

/**
 * Stores payloads: bytes under a random id that is written once and never overwritten. Any call may throw
 * STORAGE_MISSING, STORAGE_DENIED, STORAGE_UNAVAILABLE or STORAGE_FULL.
 */
export interface PayloadStore {
  /** Durable when it resolves. A stream that fails midway leaves nothing behind, and is never in memory as a whole. */
  put(partition: string, id: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void>;
  /** The content in chunks, or undefined when the payload does not exist. */
  open(partition: string, id: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Copies a payload, inside the storage where possible. False when the payload does not exist. */
  copy(from: { partition: string; id: string }, to: { partition: string; id: string }): Promise<boolean>;
  /**
   * All payloads of a partition, of a tenant (the part before the slash), or of all tenants, grouped by partition. With
   * `after`, only those behind this partition, in the order in which the store lists partitions.
   */
  list(scope?: string, after?: string): AsyncIterable<StoredPayload>;
  /** Removes payloads; missing ones are no error. */
  remove(partition: string, ids: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** The storage of a checkpoint store. */
export interface Storage {
  readonly records: RecordStore;
  readonly payloads: PayloadStore;
}

/** Creates URLs with which a caller without AWS permissions can upload or download one payload for a few minutes. */
export interface SignedUrls {
  put(partition: string, id: string): Promise<string>;
  get(partition: string, id: string): Promise<string>;
}

/** How long a signed URL is valid. */
export const SIGNED_URL_SECONDS = 900;
