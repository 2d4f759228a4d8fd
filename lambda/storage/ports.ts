import { WaitstateError } from '../core/errors.ts';

/** Where a record is. */
export interface RecordKey {
  /** `<tenant>/<run>`, escaped: everything of one run is in one partition. */
  readonly partition: string;
  /** Printable ASCII; records of a partition are ordered by it, byte by byte. */
  readonly key: string;
}

/**
 * One record: a readable part, an opaque part, and where lists find it. An adapter knows nothing of what is in them.
 */
export interface StoredRecord extends RecordKey {
  /** Never the same for two different contents; what conditions compare. */
  readonly revision: string;
  readonly meta: string;
  readonly body?: Uint8Array;
  readonly lists?: ListEntries;
  /**
   * From then on, in milliseconds, nobody misses it, and a store that `removesExpired` may remove it by itself, days later
   * too: whoever reads it must look at the moment. Other stores keep the record and forget the moment.
   */
  readonly expiresAt?: number;
}

/** By status, by owner, and by when somebody must look. */
export type ListName = 'status' | 'owner' | 'due';

/** In each list that has the record: the group it is in, and what orders it there, which is printable ASCII too. */
export type ListEntries = { readonly [L in ListName]?: { readonly group: string; readonly order: string } };

/** That nothing is under the key, or this very record. */
export type Condition = 'absent' | { readonly revision: string };

/** One write of a commit; it holds only when its condition does. */
export type Write =
  | { readonly put: StoredRecord; readonly when: Condition }
  | { readonly remove: RecordKey; readonly when: { readonly revision: string } }
  /** A write of the caller's own on what is not ours, in the terms of the storage; where `supportsForeignWrites` says so. */
  | { readonly foreign: object; readonly when: 'foreign' };

/** Some of the records that were asked for. */
export interface Page {
  readonly records: readonly StoredRecord[];
  /** Pass it as `after` for the next page; absent when there is none. */
  readonly next?: string;
}

/** Which records, in which order, and where to go on. */
export interface PageOptions {
  /** Inclusive bounds: keys for `range`, orders for `list`. */
  readonly from?: string;
  readonly to?: string;
  readonly newestFirst?: boolean;
  readonly limit?: number;
  readonly after?: string;
}

/**
 * Where records are kept. Reads see every write that was confirmed before them, except `list`, which may be behind.
 * Any call may throw STORAGE_MISSING, STORAGE_DENIED, STORAGE_UNAVAILABLE or STORAGE_FULL.
 */
export interface RecordStore {
  /** Above this many bytes of body, a payload is cheaper than a record. */
  readonly maxInlineBytes: number;
  /** Whether small bodies are worth packing: where bytes are paid for, not where a disk writes whole pages anyway. */
  readonly compressesSmallBodies: boolean;
  /** Whether a commit may hold writes of the caller's own. @default false */
  readonly supportsForeignWrites?: boolean;
  /** Whether what has an `expiresAt` goes by itself, at no cost, and never before. @default false */
  readonly removesExpired?: boolean;
  /** Those of the keys, at most 100, that there are, in one request and any order. */
  read(partition: string, keys: readonly string[]): Promise<readonly StoredRecord[]>;
  /** A page of one partition in the order of its keys. A page may be short; only a missing `next` means the end. */
  range(partition: string, options?: PageOptions): Promise<Page>;
  /** A page of one group of a list, in the order of the places. The records come without body and places. */
  list(list: ListName, group: string, options?: PageOptions): Promise<Page>;
  /**
   * Writes all or nothing, at most 100 writes on different keys, durable when it resolves. Throws ConditionFailedError
   * with what is there instead, and RECORD_TOO_LARGE before anything is written. A retry inside the adapter whose first
   * try had been applied resolves.
   */
  commit(writes: readonly Write[]): Promise<void>;
  close(): Promise<void>;
}

/** A commit that wrote nothing because conditions did not hold. */
export class ConditionFailedError extends WaitstateError {
  override readonly name = 'ConditionFailedError';
  /** For each write whose condition failed, by its place in the commit: what is there. */
  readonly found: ReadonlyMap<number, StoredRecord | undefined>;

  constructor(found: ReadonlyMap<number, StoredRecord | undefined>, cause?: unknown) {
    super('CONDITION_FAILED', `${found.size} of the conditions of a commit did not hold; nothing was written.`, {
      cause,
    });
    this.found = found;
  }
}

/** What is known of a payload without opening it. */
export interface StoredPayload {
  readonly partition: string;
  readonly id: string;
  readonly size: number;
  readonly writtenAt: number;
}

/**
 * Where payloads are kept: bytes under a random name that is written once and never again. Any call may throw
 * STORAGE_MISSING, STORAGE_DENIED, STORAGE_UNAVAILABLE or STORAGE_FULL.
 */
export interface PayloadStore {
  /**
   * Durable when it resolves; a stream that fails midway leaves nothing behind. A stream never is in memory as a whole.
   */
  put(partition: string, id: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void>;
  /** The content piece by piece, or undefined when there is no such payload. */
  open(partition: string, id: string): Promise<AsyncIterable<Uint8Array> | undefined>;
  /**
   * A copy that does not pass through this process where the storage can do that. False when there is nothing to copy.
   */
  copy(from: { partition: string; id: string }, to: { partition: string; id: string }): Promise<boolean>;
  /**
   * All payloads of a partition, of a tenant (what is before the slash), or of everybody; those of one partition
   * together.
   */
  list(scope?: string): AsyncIterable<StoredPayload>;
  /** Removes what is there; names that are not there are no error. */
  remove(partition: string, ids: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** What a checkpoint store stands on. */
export interface Storage {
  readonly records: RecordStore;
  readonly payloads: PayloadStore;
}

/** Lets somebody without any permission of their own put or get one payload of a run, for a few minutes. */
export interface SignedUrls {
  put(partition: string, id: string): Promise<string>;
  get(partition: string, id: string): Promise<string>;
}

/** How long such a URL works. */
export const SIGNED_URL_SECONDS = 900;
